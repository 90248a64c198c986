/** Longest redirect URI, in characters; it travels in a cookie. */
const MAX_REDIRECT = 512;
/** No space, quote, backslash, bracket of markup or control character, and no fragment (RFC 6749 section 3.1.2). */
const TEXT = /^[!$%&'()*+,\-./0-9:;=?@A-Z[\]_a-z~]+$/;
/** RFC 8252 section 7.3, and localhost, which most programs use. */
const LOOPBACK = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?(?=[/?]|$)/;
/** What a browser does something else with than to hand it to a program, or hands to a part of the operating system. */
const FORBIDDEN: ReadonlySet<string> = new Set([
  "about",
  "afp",
  "android-app",
  "app-prefs",
  "blob",
  "callto",
  "chrome",
  "data",
  "facetime",
  "facetime-audio",
  "file",
  "filesystem",
  "ftp",
  "geo",
  "help",
  "hcp",
  "http",
  "intent",
  "jar",
  "javascript",
  "ldap",
  "ldaps",
  "mailto",
  "market",
  "nfs",
  "prefs",
  "rdp",
  "res",
  "resource",
  "search",
  "search-ms",
  "sftp",
  "shell",
  "sip",
  "sips",
  "smb",
  "sms",
  "ssh",
  "tel",
  "telnet",
  "vbscript",
  "view-source",
  "vnc",
  "webcal",
  "ws",
  "wss",
]);
/** How such schemes begin that there are many of. */
const FORBIDDEN_BEGINNING = /^(?:chrome|itms|ms-|x-apple|x-help|x-man)/;

/**
 * Whether a code may be sent to a URI at all: https, http on loopback, or the scheme of a program (RFC 8252 section 7.1). What
 * a browser would read in another way than it is written is refused.
 */
export function isRedirect(text: string): boolean {
  if (text.length > MAX_REDIRECT || !TEXT.test(text) || !URL.canParse(text)) return false;
  const { protocol, hostname, username, password, href } = new URL(text);
  if (username !== "" || password !== "") return false;
  if (protocol === "http:") return isLoopbackRedirect(text);
  if (protocol === "https:") return hostname !== "" && isAsWritten(text, href);
  const scheme = protocol.slice(0, -1);
  return (
    text.startsWith(`${scheme}:/`) && !FORBIDDEN.has(scheme) && !FORBIDDEN_BEGINNING.test(scheme)
  );
}

/** Whether a URI has a scheme that belongs to nobody, in contrast to one of a domain (RFC 8252 section 7.1). */
export function isOwnerless(text: string): boolean {
  const { protocol } = new URL(text);
  return protocol !== "https:" && protocol !== "http:" && !protocol.includes(".");
}

/** Whether a program on the person's own machine gets the code. */
export function isLoopbackRedirect(text: string): boolean {
  const [, , port] = LOOPBACK.exec(text) ?? [undefined, undefined, "none"];
  return port === undefined || (port !== "none" && Number(port) > 0 && Number(port) < 65_536);
}

/** Whether a URI is one of those that a client named: exactly, except for the port on loopback (RFC 8252 section 7.3). */
export function matchesRedirect(asked: string, named: readonly string[]): boolean {
  if (!isRedirect(asked)) return false;
  if (named.includes(asked)) return true;
  if (!isLoopbackRedirect(asked)) return false;
  const own = withoutLoopbackPort(asked);
  return named.some((each) => isLoopbackRedirect(each) && withoutLoopbackPort(each) === own);
}

/** Where a person is sent, in words. */
export function hostOfRedirect(text: string): string {
  const { protocol, host } = new URL(text);
  return protocol === "https:" || protocol === "http:" ? host : protocol;
}

/** As a source of a Content-Security-Policy. */
export function sourceOfRedirect(text: string): string {
  const { protocol, origin } = new URL(text);
  return protocol === "https:" || protocol === "http:" ? origin : protocol;
}

/** A redirect URI with parameters of an answer. */
export function redirectTo(
  uri: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) query.set(name, value);
  return `${uri}${uri.includes("?") ? "&" : "?"}${query.toString()}`;
}

function withoutLoopbackPort(text: string): string {
  return text.replace(LOOPBACK, "http://$1");
}

/** Whether a browser goes to the host that is written: names in other cases, ports and dots that vanish are refused. */
function isAsWritten(text: string, href: string): boolean {
  const authority = /^https:\/\/([^/?]+)/.exec(text)?.[1];
  return authority !== undefined && href.startsWith(`https://${authority}`);
}
