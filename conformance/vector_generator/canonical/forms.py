"""JSON texts and their canonical forms, both written by hand."""

from typing import NamedTuple


class Form(NamedTuple):
    name: str
    title: str
    text: str
    form: str


NUMBERS = (
    Form(
        "number-zero",
        "Zero is one digit, whatever its sign, fraction and exponent",
        "[0,-0,0.0,-0.0,0e5,-0E-5]",
        "[0,0,0,0,0,0]",
    ),
    Form(
        "number-integral-floats",
        "An integral float is written without a fraction",
        "[1.0,-1.50e1,1e3,100e-2,12.0E+1]",
        "[1,-15,1000,1,120]",
    ),
    Form(
        "number-largest-integers",
        "Integers are kept up to ±(2^53 - 1)",
        "[9007199254740991,-9007199254740991]",
        "[9007199254740991,-9007199254740991]",
    ),
    Form(
        "number-floats-beyond-integers",
        "A number with a fraction or an exponent is a double, even beyond the range of integers",
        "[9007199254740992.0,9007199254740993.0,-9.007199254740994e15,1e16]",
        "[9007199254740992,9007199254740992,-9007199254740994,10000000000000000]",
    ),
    Form(
        "number-large-notation",
        "From 1e21 on, numbers are written with an exponent",
        "[1e20,100000000000000000000.0,999999999999999900000.0,1e21,1.5e21,-1e21,1.2345678901234568e29]",
        "[100000000000000000000,100000000000000000000,999999999999999900000,1e+21,1.5e+21,-1e+21,1.2345678901234568e+29]",
    ),
    Form(
        "number-small-notation",
        "Below 1e-6, numbers are written with an exponent",
        "[0.000001,1e-6,0.0000012,0.0000001,1e-7,1.5e-7,-9.99e-7,0.00000099999999999999995]",
        "[0.000001,0.000001,0.0000012,1e-7,1e-7,1.5e-7,-9.99e-7,0.000001]",
    ),
    Form(
        "number-subnormal",
        "The smallest doubles have only the digits that identify them",
        "[5e-324,4.9406564584124654e-324,1e-323,2.2250738585072011e-308,2.2250738585072014e-308,-5E-324]",
        "[5e-324,5e-324,1e-323,2.225073858507201e-308,2.2250738585072014e-308,-5e-324]",
    ),
    Form(
        "number-underflow",
        "A number nearer to zero than to the smallest double is zero",
        "[1e-400,-1e-400,2.4703282292062327e-324,2.4703282292062328e-324]",
        "[0,0,0,5e-324]",
    ),
    Form(
        "number-largest",
        "The largest double, and decimals that round to it",
        "[1.7976931348623157e308,-1.7976931348623157E+308,1.7976931348623158e308]",
        "[1.7976931348623157e+308,-1.7976931348623157e+308,1.7976931348623157e+308]",
    ),
    Form(
        "number-seventeen-digits",
        "The shortest digits that identify a double, up to seventeen",
        "[0.1,0.10000000000000001,0.30000000000000004,0.29999999999999999,1.0000000000000002,123456.78901234567,5e-1]",
        "[0.1,0.1,0.30000000000000004,0.3,1.0000000000000002,123456.78901234567,0.5]",
    ),
    Form(
        "number-round-to-even",
        "A decimal halfway between two doubles becomes the even one",
        "[9007199254740993e0,9007199254740995e0,1.00000000000000011102230246251565404236316680908203125]",
        "[9007199254740992,9007199254740996,1]",
    ),
    Form(
        "number-many-digits",
        "Digits beyond the precision of a double are rounded once, from the decimal",
        "[3.14159265358979323846264338327950288419716939937510582097494459,"
        "0.1000000000000000055511151231257827021181583404541015625]",
        "[3.141592653589793,0.1]",
    ),
    Form(
        "number-rfc-appendix",
        "Numbers of RFC 8785, appendix B",
        "[333333333.3333332,333333333.33333325,333333333.3333333,333333333.3333334,333333333.33333343,"
        "-0.0000033333333333333333,1424953923781206.2]",
        "[333333333.3333332,333333333.33333325,333333333.3333333,333333333.3333334,333333333.33333343,"
        "-0.0000033333333333333333,1424953923781206.2]",
    ),
    Form(
        "number-long-exponent",
        "An exponent may have leading zeros",
        "[1e0000000000000000000001,1E+02,1e-0]",
        "[10,100,1]",
    ),
)

STRINGS = (
    Form(
        "string-short-escapes",
        "Seven characters have short escapes and are written with them",
        r'"\b\t\n\f\r\"\\"',
        r'"\b\t\n\f\r\"\\"',
    ),
    Form(
        "string-escapes-as-numbers",
        "A character with a short escape is written with it, however it was given",
        r'"\u0008\u0009\u000a\u000c\u000d\u0022\u005C"',
        r'"\b\t\n\f\r\"\\"',
    ),
    Form(
        "string-control-characters",
        "Every other control character is written in lower-case hexadecimal",
        r'"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u000B\u000E\u000F\u0010\u0011\u0012\u0013'
        r'\u0014\u0015\u0016\u0017\u0018\u0019\u001A\u001B\u001C\u001D\u001E\u001F"',
        r'"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u000b\u000e\u000f\u0010\u0011\u0012\u0013'
        r'\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f"',
    ),
    Form(
        "string-delete",
        "U+007F and U+0080 to U+009F are not escaped",
        r'"\u007f\u0080\u0085\u009f"',
        '"\x7f\x80\x85\x9f"',
    ),
    Form("string-line-separators", "U+2028 and U+2029 are not escaped", r'"\u2028\u2029"', '"\u2028\u2029"'),
    Form("string-slash", "A slash is not escaped", r'"\/ / \u002f <\/script>"', '"/ / / </script>"'),
    Form(
        "string-ascii-escaped",
        "Letters that need no escape are written without one",
        r'"\u0041\u007A\u0020\u0027\u003C\u0026"',
        '"Az \'<&"',
    ),
    Form(
        "string-non-ascii",
        "Non-ASCII characters are written in UTF-8, whether given in UTF-8 or escaped",
        '"\u20ac\\u20AC\u00e9\\u00e9\\uFFFD\\uffff"',
        '"\u20ac\u20ac\u00e9\u00e9\ufffd\uffff"',
    ),
    Form(
        "string-surrogate-pair",
        "A pair of escapes is one character of four bytes",
        r'"\ud83d\ude02\uD800\uDC00\udbff\udfff"',
        '"\U0001f602\U00010000\U0010ffff"',
    ),
    Form(
        "string-not-normalized",
        "Characters are not normalized",
        '"\u00c5A\\u030a\u212b\ufb01"',
        '"\u00c5A\u030a\u212b\ufb01"',
    ),
    Form(
        "string-byte-order-mark",
        "U+FEFF inside a string is a character like any other",
        '"a\ufeff\\ufeffb"',
        '"a\ufeff\ufeffb"',
    ),
    Form("string-empty", "The empty string", ' "" ', '""'),
    Form(
        "string-escaped-backslash",
        "The character after an escaped backslash is not escaped",
        r'"\\u0041\\ud800\\"',
        r'"\\u0041\\ud800\\"',
    ),
)

ORDERS = (
    Form(
        "key-order-plain",
        "Keys are sorted, at every level",
        '{"b":{"d":1,"c":2},"a":[{"z":1,"y":2}]}',
        '{"a":[{"y":2,"z":1}],"b":{"c":2,"d":1}}',
    ),
    Form(
        "key-order-beyond-the-bmp",
        "Keys are sorted by UTF-16 code units: U+10000 comes before U+E000",
        '{"\uffff":6,"\ue000":4,"\U0010ffff":3,"\ufb33":5,"\U00010000":2,"\ud7ff":1}',
        '{"\ud7ff":1,"\U00010000":2,"\U0010ffff":3,"\ue000":4,"\ufb33":5,"\uffff":6}',
    ),
    Form(
        "key-order-second-unit",
        "Keys that begin with the same high surrogate are sorted by the low one",
        '{"\U0001f602x":3,"\U0001f601y":2,"\U0001f600z":1}',
        '{"\U0001f600z":1,"\U0001f601y":2,"\U0001f602x":3}',
    ),
    Form(
        "key-order-prefix",
        "A key comes before keys that begin with it, and the empty key comes first",
        '{"ab":4,"a":2,"":1,"b":5,"a\\u0000":3}',
        '{"":1,"a":2,"a\\u0000":3,"ab":4,"b":5}',
    ),
    Form(
        "key-order-digits",
        "Keys of digits are sorted as text",
        '{"10":3,"9":5,"1":1,"2":4,"01":0,"1.0":2}',
        '{"01":0,"1":1,"1.0":2,"10":3,"2":4,"9":5}',
    ),
    Form(
        "key-order-case",
        "Upper-case letters come before lower-case ones, with the underscore between them",
        '{"a":4,"_":3,"Z":2,"A":1}',
        '{"A":1,"Z":2,"_":3,"a":4}',
    ),
    Form(
        "key-order-escaped",
        "Keys are sorted by their value, not by how they are written",
        '{"\\u0062":2,"a":1,"\\n":0,"\\"":0.5}',
        '{"\\n":0,"\\"":0.5,"a":1,"b":2}',
    ),
    Form(
        "key-order-control-characters",
        "Control characters come first",
        '{" ":4,"\\u001f":3,"\\t":1,"\\r":2,"\x7f":5,"\\u0080":6}',
        '{"\\t":1,"\\r":2,"\\u001f":3," ":4,"\x7f":5,"\x80":6}',
    ),
    Form(
        "keys-of-javascript-objects",
        "Names with a meaning in JavaScript are keys like any other",
        '{"toString":1,"constructor":2,"__proto__":3,"length":4}',
        '{"__proto__":3,"constructor":2,"length":4,"toString":1}',
    ),
    Form(
        "keys-of-different-normalization",
        "Keys that look alike but have different normalization forms are two keys",
        '{"\u00e9":1,"e\\u0301":2}',
        '{"e\u0301":2,"\u00e9":1}',
    ),
)

STRUCTURES = (
    Form("array-order", "Items keep their order", '[3,1,2,[2,1],"b","a"]', '[3,1,2,[2,1],"b","a"]'),
    Form(
        "empty-containers", "Empty arrays and objects", '{"b":[ ],"a":{ },"c":[[],{}]}', '{"a":{},"b":[],"c":[[],{}]}'
    ),
    Form("white-space", "White space between tokens is dropped", ' \t\r\n{ "a" :\t[ 1 ,\r\n2 ] }\n\n', '{"a":[1,2]}'),
    Form(
        "nested-64-deep",
        "Sixty-four levels",
        "[" * 32 + '{"a":' * 32 + "1" + "}" * 32 + "]" * 32,
        "[" * 32 + '{"a":' * 32 + "1" + "}" * 32 + "]" * 32,
    ),
    Form("literals", "The three literals", "[null,true,false]", "[null,true,false]"),
    Form("top-level-null", "A text may be a literal", "null\n", "null"),
    Form("top-level-number", "A text may be a number", " 1e0 ", "1"),
    Form("top-level-string", "A text may be a string", '"caf\\u00e9"', '"caf\u00e9"'),
    Form("two-members", "An object of two members", '{"a": 1, "b": 2}', '{"a":1,"b":2}'),
    Form(
        "nested-members",
        "An object in an array in an object",
        '{"list": [{"a": 1, "b": 2}]}',
        '{"list":[{"a":1,"b":2}]}',
    ),
    Form(
        "money-and-time",
        "An object like those in a ledger: integers, text and null",
        '{"usd_micros":1500,"at":"2026-01-01T00:00:00.000000Z","causes":[0,1],"task":null}',
        '{"at":"2026-01-01T00:00:00.000000Z","causes":[0,1],"task":null,"usd_micros":1500}',
    ),
)

FORMS = (*NUMBERS, *STRINGS, *ORDERS, *STRUCTURES)
