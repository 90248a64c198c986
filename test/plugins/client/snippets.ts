import { fileURLToPath } from "node:url";

/** The page that shows what to paste into clients. */
export const PAGE = fileURLToPath(new URL("../../../docs/guide/connect.md", import.meta.url));
/** The endpoint on that page. */
export const PAGE_URL = "http://127.0.0.1:8080/mcp";

/** What a page tells to paste into a client, below a comment with its name. */
export interface Snippet {
  readonly client: string;
  readonly text: string;
}

/** Every snippet of a page that names its client. */
export function snippetsOf(page: string): readonly Snippet[] {
  return [...page.matchAll(/<!-- client-config ([\w-]+) -->\n\n```json\n([^]*?)\n?```$/gm)].map(
    ([, client, text]) => ({ client: client!, text: text! }),
  );
}
