/** The anchor of a heading, as GitHub makes it: the same links lead to a heading there and on the site. */
export function anchorOf(title: string): string {
  return title
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}
