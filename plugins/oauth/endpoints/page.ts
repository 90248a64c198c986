import { createHash } from "node:crypto";
import { escapeHtml } from "propylon/kit";
import type { OauthClient } from "../clients/clients.ts";
import type { Login } from "../people/login.ts";
import { hostOfRedirect, isLoopbackRedirect, sourceOfRedirect } from "../redirects.ts";

const STYLE = `
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; padding: 1rem; overflow-wrap: anywhere }
main { max-width: 32rem; margin: 2rem auto }
h1 { font-size: 1.25rem }
dt { font-weight: 600; margin-top: .75rem }
dd { margin: 0 }
.warning { border-left: .25rem solid #b45309; padding-left: .75rem }
form { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem }
button { font: inherit; padding: .6rem 1.2rem; min-width: 8rem; min-height: 2.75rem; flex: 1 }
`;
/** Longest name that is shown, in characters. */
const MAX_NAME = 80;

/** What the page of consent shows. */
export interface ConsentPage {
  readonly client: OauthClient;
  readonly login: Login;
  /** Who logged in. */
  readonly person: string;
  /** Where the form goes. */
  readonly action: string;
  /** Scopes with the role that each gives. */
  readonly scopes: readonly (readonly [scope: string, role: string])[];
}

/** Asks a person whether a program may act for them. */
export function consentPage({ client, login, person, action, scopes }: ConsentPage): Response {
  const name = shownName(client);
  const fields = [
    ["Program", name],
    ["Known by", knownBy(client)],
    ["It may use", login.resource],
    ["As", person],
    ["With the rights", rightsOf(scopes)],
    ["You are sent to", destinationOf(login.redirect)],
  ];
  const list = fields.map(
    ([term, text]) => `<dt>${escapeHtml(term!)}</dt><dd>${escapeHtml(text!)}</dd>`,
  );
  const warning = warningOf(client, login.redirect);
  const hidden = { login: login.id, answer: login.answer ?? "" };
  const inputs = Object.entries(hidden).map(
    ([key, value]) => `<input type="hidden" name="${key}" value="${escapeHtml(value)}">`,
  );
  return render(
    200,
    `Allow ${name}?`,
    `<dl>${list.join("")}</dl>
${warning === undefined ? "" : `<p class="warning">${escapeHtml(warning)}</p>`}
<form method="post" action="${escapeHtml(action)}">
${inputs.join("\n")}
<button name="choice" value="deny">Deny</button>
<button name="choice" value="allow">Allow</button>
</form>`,
    `'self' ${sourceOfRedirect(login.redirect)}`,
  );
}

/** Tells a person that a login cannot go on. */
export function messagePage(status: number, title: string, text: string): Response {
  return render(status, title, `<p>${escapeHtml(text)}</p>`, "'none'");
}

/** Without characters that turn writing round, hide, or look like nothing. */
export function shownName({ name, id }: Pick<OauthClient, "name" | "id">): string {
  const plain = name
    .replaceAll(/[\p{C}\p{Z}\p{M}]+/gu, " ")
    .trim()
    .slice(0, MAX_NAME);
  return plain || (id.startsWith("https:") ? new URL(id).host : "A program without a name");
}

function knownBy({ kind, id }: OauthClient): string {
  if (kind === "configured") return "the operator of this gateway";
  return kind === "document" ? new URL(id).host : "nobody: it named itself";
}

function rightsOf(scopes: ConsentPage["scopes"]): string {
  if (scopes.length === 0) return "that you have";
  return scopes.map(([scope, role]) => `${scope} (${role})`).join(", ");
}

function destinationOf(redirect: string): string {
  const host = hostOfRedirect(redirect);
  return isLoopbackRedirect(redirect) ? `${host}, a program on this computer` : host;
}

function warningOf({ kind }: OauthClient, redirect: string): string | undefined {
  if (isLoopbackRedirect(redirect))
    return "Any program on this computer could ask like this. Allow it only if you have just begun a login yourself.";
  if (kind === "registered")
    return "The name was chosen by the program itself. Allow it only if you have just begun a login there yourself.";
  return undefined;
}

function render(status: number, title: string, body: string, formAction: string): Response {
  const text = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
</html>
`;
  return new Response(text, { status, headers: headersOf(formAction) });
}

/** Nothing is loaded and nothing runs; a frame around the page could have the button pressed by mistake (RFC 9700 section 4.16). */
function headersOf(formAction: string): Record<string, string> {
  const digest = createHash("sha256").update(STYLE).digest("base64");
  return {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": `default-src 'none'; style-src 'sha256-${digest}'; form-action ${formAction}; base-uri 'none'; frame-ancestors 'none'`,
    "x-frame-options": "DENY",
    "cache-control": "no-store",
    // With no-referrer a browser sends "Origin: null" with the form, which is refused.
    "referrer-policy": "same-origin",
  };
}
