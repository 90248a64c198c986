import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  hostOfRedirect,
  isOwnerless,
  isRedirect,
  matchesRedirect,
  redirectTo,
  sourceOfRedirect,
} from "../../../plugins/oauth/redirects.ts";
import { newBrowser, REDIRECT, setupLogin } from "./kit.ts";
import { Program } from "./attempt.ts";
import { rounds } from "../../fixtures/ci.ts";

/** What a program named, and what somebody asks for in its place. */
const WEB = "https://app.example/callback";
const TRICKS: readonly string[] = [
  // Another host that looks like it.
  "https://app.example.evil.example/callback",
  "https://app.example@evil.example/callback",
  "https://evil.example/app.example/callback",
  "https://evil.example#@app.example/callback",
  "https://evil.example?@app.example/callback",
  "https://evil.example\\@app.example/callback",
  "https://app.example\\.evil.example/callback",
  "https://app.example%2eevil.example/callback",
  "https://app.example:443@evil.example/callback",
  "https://app.example:x@evil.example/callback",
  "https://sub.app.example/callback",
  "https://xn--pp-gia.example/callback",
  "https://аpp.example/callback",
  "https://app。example/callback",
  "https://app.example./callback",
  "https://APP.EXAMPLE/callback",
  "https://app.example:443/callback",
  "https://app.example:8443/callback",
  "https://[::ffff:127.0.0.1]/callback",
  // Another path, or more than it.
  "https://app.example/callback/",
  "https://app.example/callback/../steal",
  "https://app.example/callback/..;/steal",
  "https://app.example/callback%2f..%2fsteal",
  "https://app.example/CALLBACK",
  "https://app.example/callback?next=https://evil.example",
  "https://app.example/callback;a=b",
  "https://app.example/callback#fragment",
  "https://app.example//callback",
  "https://app.example/./callback",
  "https://app.example/x/../callback",
  // Another scheme.
  "http://app.example/callback",
  "//app.example/callback",
  "javascript:alert(1)//https://app.example/callback",
  "javascript://app.example/%0aalert(1)",
  "data:text/html,https://app.example/callback",
  "vbscript://app.example/callback",
  "file:///app.example/callback",
  "blob:https://app.example/callback",
  "view-source:https://app.example/callback",
  "ws://app.example/callback",
  // Another reader would see something else.
  "https://app.example/callback\r\nLocation: https://evil.example",
  "https://app.example/callback\t",
  " https://app.example/callback",
  "https:\\\\app.example\\callback",
  "https:app.example/callback",
  "https:/app.example/callback",
  "https:///app.example/callback",
  "https://app.example/callback\u0000",
  "https://app.example/callback\u202e",
  "https://app.example/call\u00adback",
  "",
  // Loopback, where only the port may differ.
  "http://localhost:33418/other",
  "http://localhost:33418/callback?x=1",
  "http://localhost.evil.example:33418/callback",
  "http://127.0.0.1:33418/callback",
  "http://[::1]:33418/callback",
  "http://127.1:33418/callback",
  "http://0x7f000001:33418/callback",
  "http://localhost:33418@evil.example/callback",
  "http://localhost:99999/callback",
  "http://localhost:0/callback",
  "https://localhost:33418/callback",
];

describe("a redirect URI", () => {
  it("of a program is where its codes go, and on loopback at any port", () => {
    const named = [
      WEB,
      "http://localhost/callback",
      "http://[::1]:1/cb",
      "cursor://anysphere.cursor-mcp/oauth/callback",
    ];
    for (const uri of [
      ...named,
      "http://localhost:65535/callback",
      "http://localhost:1/callback",
      "http://[::1]:2/cb",
    ])
      expect([uri, matchesRedirect(uri, named)]).toEqual([uri, true]);
  });

  it("knows 50 tricks and more", () => {
    expect(TRICKS.length).toBeGreaterThanOrEqual(50);
    expect(TRICKS.filter((uri) => matchesRedirect(uri, [WEB, REDIRECT]))).toEqual([]);
  });

  it("that no browser could be sent to is none", () => {
    for (const uri of [
      "javascript:alert(1)",
      "data:,x",
      "about:blank",
      "intent://x/#y",
      "cursor:x",
      "http://10.0.0.1/",
      "https://u:p@a.example/",
      "chrome-extension://a/b",
      `https://a.example/${"x".repeat(600)}`,
    ])
      expect([uri, isRedirect(uri)]).toEqual([uri, false]);
  });

  it("that matches goes to the host of one that was named, as a browser reads it", () => {
    const named = [WEB, REDIRECT];
    const words = [
      "http://",
      "https://",
      "localhost",
      "127.0.0.1",
      "[::1]",
      ":",
      "@",
      "/",
      "\\",
      "?",
      "#",
      ".",
      "%2f",
      "app.example",
      "evil",
      "callback",
      "33418",
      "0",
      "\t",
      " ",
    ];
    const parts = fc.array(fc.constantFrom(...words), { maxLength: 9 }).map((all) => all.join(""));
    const near = fc
      .tuple(fc.constantFrom(...named), fc.nat(40), parts)
      .map(([uri, at, more]) => uri.slice(0, at) + more + uri.slice(at));
    const place = (uri: string): string => {
      const { hostname, pathname, search, protocol } = new URL(uri);
      return [protocol, hostname, pathname, search].join(" ");
    };
    const places = new Set(named.map(place));
    const isSafe = (uri: string): boolean => !matchesRedirect(uri, named) || places.has(place(uri));
    const run = fc.check(fc.property(fc.oneof(parts, near, fc.webUrl()), isSafe), {
      numRuns: rounds(5_000),
    });
    expect(run.counterexample).toBeNull();
  });

  it.each([
    ["https://app.example:8443/cb", "app.example:8443", "https://app.example:8443", false],
    ["http://localhost:33418/cb", "localhost:33418", "http://localhost:33418", false],
    ["com.example.app:/cb", "com.example.app:", "com.example.app:", false],
    ["cursor://anysphere/cb", "cursor:", "cursor:", true],
  ])("%s leads to %s, and belongs to nobody: %s, %s", (uri, host, source, ownerless) => {
    expect([hostOfRedirect(uri), sourceOfRedirect(uri), isOwnerless(uri)]).toEqual([
      host,
      source,
      ownerless,
    ]);
  });

  it("gets the answer behind whatever query it has", () => {
    expect(redirectTo("https://a.example/cb?x=1", { code: "c", state: undefined })).toBe(
      "https://a.example/cb?x=1&code=c",
    );
    expect(redirectTo("cursor://a/cb", { state: "a b&c" })).toBe("cursor://a/cb?state=a+b%26c");
  });
});

it("nobody is sent to an address that the program did not name, not even with an error", async () => {
  const { url } = await setupLogin();
  const program = new Program(url);
  await program.register({ redirect_uris: [WEB, REDIRECT] });
  const browser = newBrowser();
  for (const uri of [...TRICKS, "https://evil.example/"]) {
    const start = program.start({ redirect_uri: uri, response_type: "token" });
    const page = await browser.open(start);
    if (page instanceof URL) throw new Error(`sent to ${page.href} for ${uri}`);
    expect([uri, page.status, page.headers.get("location")]).toEqual([uri, 400, null]);
  }
});
