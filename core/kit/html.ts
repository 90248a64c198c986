import { createHash } from "node:crypto";

/**
 * Markup that {@link markup} made. It goes into other markup as it stands, where a text is escaped.
 *
 * @example const lines: readonly Markup[] = names.map((name) => markup`<li>${name}</li>`);
 */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What {@link markup} takes; `undefined` is nothing. */
type Piece = string | number | Markup | readonly Markup[] | undefined;

/**
 * Markup with texts of strangers in it, between tags or in quoted attributes: each is escaped. Formatters
 * lay out templates of the name `html`, which would change what is shown.
 *
 * @example const body = markup`<p title="${name}">${text}</p>`;
 */
export function markup(parts: readonly string[], ...pieces: readonly Piece[]): Markup {
  return new Markup(parts.reduce((text, part, at) => text + toMarkup(pieces[at - 1]) + part));
}

function toMarkup(piece: Piece): string {
  if (piece instanceof Markup) return piece.text;
  if (typeof piece === "object") return piece.map(({ text }) => text).join("\n");
  return String(piece ?? "").replaceAll(/[&<>"'`]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 40rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.25rem }
#about, details p { white-space: pre-line }
dt { font-weight: 600; margin-top: .75rem }
dd { margin: 0 }
pre { overflow: auto; max-height: 30rem; white-space: pre-wrap }
details { border: 1px solid #8886; border-radius: .4rem; padding: .5rem .8rem; margin: .5rem 0 }
.warning { border-left: .25rem solid #b45309; padding-left: .75rem }
form { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0 }
label { flex: 1 1 100% }
button, input, textarea { font: inherit; padding: .6rem }
input, textarea { display: block; width: 100%; box-sizing: border-box }
button { min-width: 8rem; min-height: 2.75rem; flex: 1 }
`;

/**
 * What {@link htmlPage} shows.
 *
 * @example const content: PageContent = { title: "Connected", body: markup`<p>You can close this page.</p>` };
 */
export interface PageContent {
  readonly title: string;
  readonly body: Markup;
  /** Runs in the page, and may ask this gateway and nobody else. */
  readonly script?: string;
  /** Where forms may be sent, in the words of CSP; default: nowhere. */
  readonly formAction?: string;
}

/**
 * A page for people outside the web interface, as text with its headers. It loads nothing, and runs nothing but its own script.
 *
 * @example
 * const { text, headers } = htmlPage({ title: "Connected", body: markup`<p>${server} is connected.</p>` });
 * return new Response(text, { headers });
 */
export function htmlPage({ title, body, script, formAction = "'none'" }: PageContent): {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
} {
  const policy = [
    "default-src 'none'",
    `style-src '${digest(STYLE)}'`,
    ...(script === undefined ? [] : [`script-src '${digest(script)}'`, "connect-src 'self'"]),
    `form-action ${formAction}`,
    "base-uri 'none'",
    // A frame around a page could have its button pressed by mistake (RFC 9700 section 4.16).
    "frame-ancestors 'none'",
  ];
  // What a digest stands for is exact.
  const text = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${toMarkup(title)}</title>
<style>${STYLE}</style>
<main>
<h1 id="title">${toMarkup(title)}</h1>
${body.text}
</main>
${script === undefined ? "" : `<script>${script}</script>\n`}</html>
`;
  return {
    text,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy.join("; "),
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      // The address may be a secret. With no-referrer a browser sends "Origin: null" with a form, which is refused.
      "referrer-policy": formAction === "'none'" ? "no-referrer" : "same-origin",
    },
  };
}

/**
 * {@link htmlPage} as the answer of a route.
 *
 * @example return htmlResponse(404, { title: "Not found", body: markup`<p>Begin again.</p>` });
 */
export function htmlResponse(status: number, content: PageContent): Response {
  const { text, headers } = htmlPage(content);
  return new Response(text, { status, headers });
}

function digest(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
