/**
 * A text of a stranger for a page of HTML, between tags or in a quoted attribute.
 *
 * @example const body = `<p title="${escapeHtml(name)}">${escapeHtml(text)}</p>`;
 */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"'`]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
