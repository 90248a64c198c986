import { createHash, randomBytes, randomInt } from "node:crypto";
import { expect, it } from "vitest";
import { Program } from "../plugins/oauth/attempt.ts";
import { newBrowser, REDIRECT, setupLogin } from "../plugins/oauth/kit.ts";
import { ask } from "../plugins/oauth-resource/kit.ts";

/** How many; a campaign makes 100,000. */
const REQUESTS = Number(process.env["OAUTH_FORGED"] ?? 500);
const AT_ONCE = 50;

const pick = <T>(all: readonly T[]): T => all[randomInt(all.length)]!;
const noise = (): string =>
  pick([
    randomBytes(randomInt(1, 60)).toString("base64url"),
    randomBytes(8).toString("latin1"),
    "",
    "null",
    "[]",
    "../..",
    "%00",
    "ppr_",
    "ppc_",
    "ppi_",
    "a.b.c",
  ]);

/** One character of a text is another, more or less, or the text is cut, doubled or turned. */
function mutate(text: string): string {
  const at = randomInt(text.length);
  const other = pick("ABCxyz019._-%= ".split("").filter((each) => each !== text[at]));
  const made = pick([
    () => text.slice(0, at) + other + text.slice(at + 1),
    () => text.slice(0, at) + text.slice(at + 1),
    () => text.slice(0, at) + other + text.slice(at),
    () => text.slice(0, at),
    () => text + text,
    () => text.split("").toReversed().join(""),
    () => text.toUpperCase(),
    () => noise(),
  ])();
  return made === text ? `${text}.` : made;
}

/** Without what no header can hold. */
const headerText = (text: string): string => text.replaceAll(/[^\x21-\x7e]/g, "");

/** The last character of base64url may stand for the same bytes as another: a signature is compared as text, a JWT's is not. */
const isSameToken = (one: string, other: string): boolean => {
  const bytes = (text: string): string =>
    text
      .split(".")
      .map((part) => Buffer.from(part, "base64url").toString("hex"))
      .join(".");
  return bytes(one) === bytes(other);
};

it(`${REQUESTS} forged and mutated requests: none is accepted, none is answered with 5xx`, async () => {
  const { url, endpoint } = await setupLogin({
    options: {
      clients: {
        cli: { name: "CLI", redirects: [REDIRECT], secret: "a secret of sixteen characters" },
      },
      documents: false,
    },
  });
  const program = new Program(url);
  const { refresh_token: refresh, access_token: access } = await program.tokens();
  const victim = { refresh: refresh!, access: access! };
  const code = (await program.login()).get("code")!;
  const used = (await program.login()).get("code")!;
  await program.redeem(used);
  const stranger = new Program(url);
  await stranger.register();
  const page = await newBrowser().open(program.start());
  expect(page).not.toBeInstanceOf(URL);

  const token =
    (fields: Record<string, string>): (() => Promise<[string, number, boolean]>) =>
    async () => {
      const { status, body } = await program.post("/oauth/token", fields);
      return [JSON.stringify(fields), status, body.access_token !== undefined];
    };
  const attempts: readonly (() => () => Promise<[string, number, boolean]>)[] = [
    () =>
      token({
        grant_type: "refresh_token",
        refresh_token: mutate(victim.refresh),
        client_id: program.id,
      }),
    () =>
      token({
        grant_type: "refresh_token",
        refresh_token: victim.refresh,
        client_id: pick([stranger.id, "cli", noise(), mutate(program.id)]),
      }),
    () =>
      token({
        grant_type: "refresh_token",
        refresh_token: victim.refresh,
        client_id: program.id,
        resource: pick([url + "/x", "https://evil.example/mcp", noise() || "x"]),
      }),
    () =>
      token({
        grant_type: "authorization_code",
        code: mutate(code),
        client_id: program.id,
        code_verifier: program.verifier,
        redirect_uri: REDIRECT,
      }),
    () =>
      token({
        grant_type: "authorization_code",
        code: used,
        client_id: stranger.id,
        code_verifier: program.verifier,
      }),
    () =>
      token({
        grant_type: pick(["password", "client_credentials", "implicit", noise() || "x"]),
        code,
        refresh_token: victim.refresh,
        client_id: program.id,
        code_verifier: program.verifier,
      }),
    () =>
      token(
        Object.fromEntries(
          Array.from({ length: randomInt(6) }, () => [
            pick([
              "grant_type",
              "code",
              "client_id",
              "code_verifier",
              "refresh_token",
              "client_secret",
              noise() || "x",
            ]),
            noise(),
          ]),
        ),
      ),
    () => async () => {
      const text = mutate(victim.access);
      const { status } = await ask(endpoint, /^[\x21-\x7e]+$/.test(text) ? text : "x");
      return [text, status, status === 200 && !isSameToken(text, victim.access)];
    },
    () => async () => {
      const [head = "", body = "", signature = ""] = victim.access.split(".");
      const change = (part: string, more: object): string =>
        Buffer.from(
          JSON.stringify({
            ...(JSON.parse(Buffer.from(part, "base64url").toString()) as object),
            ...more,
          }),
        ).toString("base64url");
      const forged = pick([
        `${change(head, { alg: "none" })}.${body}.`,
        `${change(head, { alg: "HS256" })}.${body}.${signature}`,
        `${change(head, { kid: noise() })}.${body}.${signature}`,
        `${change(head, { jwk: {}, jku: "https://evil.example/keys" })}.${body}.${signature}`,
        `${head}.${change(body, { sub: "root" })}.${signature}`,
        `${head}.${change(body, { roles: ["admin"] })}.${signature}`,
        `${head}.${change(body, { exp: 9_999_999_999 })}.${signature}`,
        `${head}.${change(body, { aud: [endpoint, url] })}.${signature}`,
      ]);
      const { status } = await ask(endpoint, forged);
      return [forged, status, status === 200];
    },
    () => async () => {
      const fields = {
        redirect_uri: pick([REDIRECT, mutate(REDIRECT), "https://evil.example/"]),
        code_challenge_method: pick(["plain", "S512", ""]),
        response_type: pick(["code", "token", "code id_token"]),
        code_challenge: pick([createHash("sha256").update("x").digest("base64url"), noise()]),
      };
      const response = await fetch(program.start(fields), { redirect: "manual" });
      await response.body?.cancel();
      const target = response.headers.get("location") ?? "";
      return [
        JSON.stringify(fields),
        response.status,
        target !== "" && !/^http:\/\/localhost:\d{1,5}\/callback\?error=/.test(target),
      ];
    },
    () => async () => {
      const cookie = `propylon_login_${noise()}=${noise()}; propylon_login_x=${mutate("gAAAAAB")}`;
      const path = pick([
        `/oauth/callback?state=${encodeURIComponent(noise())}&code=x`,
        "/oauth/callback?state=x&state=y",
        "/oauth/callback",
      ]);
      const response = await fetch(`${url}${path}`, {
        redirect: "manual",
        headers: { cookie: headerText(cookie) },
      });
      await response.body?.cancel();
      return [path, response.status, response.headers.has("location")];
    },
    () => async () => {
      const { status } = await program.post(
        "/oauth/consent",
        { login: noise(), answer: noise(), choice: "allow" },
        { cookie: `propylon_login_=${headerText(mutate("gAAAAAB"))}` },
      );
      return ["consent", status, status < 400];
    },
    () => async () => {
      const { status } = await stranger.post("/oauth/revoke", {
        token: mutate(victim.refresh),
        client_id: pick([stranger.id, noise()]),
      });
      // 200 is the answer for what is no token (RFC 7009 section 2.2); whether it ended anything is seen below.
      return ["revoke", status, false];
    },
  ];
  const wrong: unknown[] = [];
  const statuses = new Map<number, number>();
  for (let done = 0; done < REQUESTS; done += AT_ONCE) {
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => pick(attempts)()()));
    for (const answer of answers) {
      const [, status, isAccepted] = answer;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (isAccepted || status >= 500) wrong.push(answer);
    }
  }
  expect(wrong.slice(0, 5)).toEqual([]);
  expect([...statuses.keys()].filter((status) => status >= 500)).toEqual([]);
  // Nothing of that ended what is somebody's.
  expect((await ask(endpoint, victim.access)).status).toBe(200);
  expect((await program.tokens()).access_token).toBeDefined();
  expect((await program.refresh(victim.refresh)).status).toBe(200);
  if (REQUESTS > 10_000)
    process.stdout.write(`${REQUESTS} requests: ${JSON.stringify([...statuses])}\n`);
}, 3_600_000);
