/** Takes colours and measures from the page, which gives them to everything below it. */
export const STYLE = `
.stack { display: grid; gap: 16px; grid-template-columns: minmax(0, 1fr); }
.bar { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); align-items: end; }
.field, form, fieldset { display: grid; gap: 8px; min-inline-size: 0; }
.field > label { font-weight: 500; }
.row { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
fieldset { margin: 8px 0 0; padding: 12px; border: 1px solid var(--line); border-radius: var(--radius); justify-items: start; }
fieldset label { display: flex; gap: 8px; align-items: center; min-block-size: 28px; }
input { inline-size: 16px; block-size: 16px; margin: 4px; }
select, textarea, button {
  font: inherit; color: inherit; background: var(--raised); min-block-size: 32px; max-inline-size: 100%;
  padding: 4px 12px; border: 1px solid var(--line-strong); border-radius: var(--radius);
}
select, textarea { padding-inline: 8px; inline-size: 100%; box-sizing: border-box; }
textarea { resize: vertical; }
button { font-weight: 500; cursor: pointer; }
button:hover { background: var(--sunk); }
button.primary { color: var(--on-accent); background: var(--accent); border-color: var(--accent); }
button.quiet { color: var(--accent); background: none; border-color: transparent; }
button:disabled, button[aria-disabled="true"] {
  color: var(--faint); background: none; border: 1px dashed var(--line); cursor: not-allowed;
}
textarea:disabled, select:disabled { color: var(--faint); border-style: dashed; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
ol { list-style: none; margin: 0; padding: 0; display: grid; gap: 12px; }
li { white-space: pre-wrap; overflow-wrap: anywhere; max-inline-size: 80ch; }
p { margin: 0; }
a, summary { color: var(--accent); }
summary { cursor: pointer; min-block-size: 24px; }
progress { inline-size: 100%; block-size: 8px; }
.lines, .faint { color: var(--faint); }
.empty { padding: 16px; color: var(--faint); border: 1px dashed var(--line-strong); border-radius: var(--radius); }
.badge, .banner { font-weight: 600; }
.badge { align-self: end; line-height: 32px; }
.badge::before { content: "● "; }
.badge.degraded::before { content: "▲ "; }
.badge.error::before { content: "■ "; }
.banner { padding: 8px 12px; border: 1px solid var(--line); border-inline-start: 4px solid; border-radius: var(--radius); overflow-wrap: anywhere; }
.ok { color: var(--ok); }
.degraded { color: var(--degraded); }
.error { color: var(--error); }
[hidden] { display: none; }
`;
