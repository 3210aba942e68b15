"""The style sheet and the script of the HTML report."""

STYLE = """\
:root { color-scheme: light dark; --line: #ccc; --faint: #666; --good: #1a7f37; --bad: #cf222e; --known: #9a6700; }
@media (prefers-color-scheme: dark) {
  :root { --line: #444; --faint: #aaa; --good: #56d364; --bad: #ff7b72; --known: #e3b341; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; }
code, pre { font: 0.85rem/1.4 ui-monospace, monospace; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: 0.25rem 0.75rem; text-align: right; font-weight: normal; }
th:first-child { text-align: left; }
th.level { padding-left: 2rem; color: var(--faint); }
input { font: inherit; padding: 0.2rem 0.8rem; width: 100%; max-width: 24rem; box-sizing: border-box; }
button { font: inherit; padding: 0.2rem 0.8rem; border: 1px solid var(--line); border-radius: 1rem; background: none; }
button[aria-pressed="true"] { border-color: currentColor; font-weight: bold; }
details { border-bottom: 1px solid var(--line); padding: 0.4rem 0; }
details[hidden] { display: none; }
summary { cursor: pointer; }
.state { display: inline-block; min-width: 9rem; font-weight: bold; color: var(--faint); }
[data-state="passed"] > summary .state { color: var(--good); }
[data-state="failed"] > summary .state, [data-state="unsupported"] > summary .state,
[data-state="unexpected pass"] > summary .state { color: var(--bad); }
[data-state="expected failure"] > summary .state { color: var(--known); }
dl { display: grid; grid-template-columns: 9rem 1fr; gap: 0.3rem 1rem; margin: 0.6rem 0 0.6rem 1rem; }
dt { color: var(--faint); }
dd { margin: 0; min-width: 0; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } }
"""

SCRIPT = """\
const buttons = document.querySelectorAll("#filters button");
const search = document.querySelector("#search");
let state = "";
const show = () => {
  const text = search.value.toLowerCase();
  for (const result of document.querySelectorAll("#results > details")) {
    const hasState = state === "" || result.dataset.state === state;
    result.hidden = !hasState || !result.querySelector("summary").textContent.toLowerCase().includes(text);
  }
};
for (const button of buttons) {
  button.addEventListener("click", () => {
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    state = button.dataset.state;
    show();
  });
}
search.addEventListener("input", show);
// Show the failures first.
document.querySelector('#filters [data-state="failed"]')?.click();
"""
