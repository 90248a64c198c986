import { randomBytes, randomInt } from "node:crypto";
import { decodeJwt, decodeProtectedHeader, SignJWT } from "jose";
import { expect, it } from "vitest";
import {
  createForge,
  populate,
  startIssuer,
  turnClaims,
} from "../../plugins/team-auth/gateway-kit.ts";
import { ADMIN, KOTTOS } from "../../plugins/team-auth/kit.ts";

const TOKENS = Number(process.env["FORGED_TOKENS"] ?? 700);
const AT_ONCE = 32;

const MESSAGES = new Set([
  "Invalid MCP token.",
  "Token has expired.",
  "Invalid token issuer.",
  "Invalid token audience.",
  "Token has been deactivated.",
  "User account is disabled.",
  "Token replay detected.",
]);

const CHARACTERS =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~+/=!#$%&'*^`|{}<>?@[]";
const pick = <T>(items: ArrayLike<T>): T => items[randomInt(items.length)]!;
const text = (length: number): string => Array.from({ length }, () => pick(CHARACTERS)).join("");
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Changes a text somewhere, so that it is another. */
function mutate(token: string): string {
  const at = randomInt(token.length);
  const ways: (() => string)[] = [
    () => token.slice(0, at) + pick(CHARACTERS) + token.slice(at + 1),
    () => token.slice(0, at) + token.slice(at + 1),
    () => token.slice(0, at) + text(1 + randomInt(5)) + token.slice(at),
    () => token.slice(0, at),
    () => token + text(1 + randomInt(8)),
    () => token.slice(at) + token.slice(0, at),
    () => (token === token.toUpperCase() ? token.toLowerCase() : token.toUpperCase()),
    () => token + token,
  ];
  const changed = pick(ways)();
  return changed === token || changed === "" ? `${token}x` : changed;
}

it(
  `${TOKENS} mutated and forged tokens of all kinds are refused, each with one of seven messages`,
  { timeout: 1_800_000 },
  async () => {
    const { issuer, url, gateway } = await startIssuer({ enforceAudience: true });
    const { jwt: former, opaque } = await populate(issuer);
    const { directory } = issuer;
    const forge = await createForge(issuer, former);
    const { jwt } = (await directory.teams.rotate(ADMIN, KOTTOS)).value;
    const off = "a3f10000-0000-4000-8000-00000000000f";
    const { value: deactivated } = await directory.teams.create(ADMIN, { id: off, name: "Off" });
    await directory.teams.deactivate(ADMIN, off);
    await directory.users.create(ADMIN, { id: "off" });
    const ofDisabled = await directory.tokens.create(ADMIN, { user: "off", name: "off" });
    await directory.users.update(ADMIN, "off", { active: false });
    const aud = "mnemosyne";
    const used = await forge(turnClaims({ aud }));
    expect(
      (await fetch(`${url}/sees`, { headers: { authorization: `Bearer ${used}` } })).status,
    ).toBe(200);
    const [, payload, signature] = jwt.split(".") as [string, string, string];
    const { kid } = decodeProtectedHeader(jwt);
    const genuine = decodeJwt(jwt);
    const now = Math.floor(Date.now() / 1_000);
    const wrongly = (claims: Record<string, unknown>, head: Record<string, unknown> = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: pick(["HS256", "HS384", "HS512"]), kid: kid!, ...head })
        .sign(randomBytes(64));
    /** Whoever has the key signs these: what they say is what is wrong. */
    const claims: (() => Record<string, unknown>)[] = [
      () => ({ ...genuine, jti: crypto.randomUUID() }),
      () => ({ ...genuine, sub: `team:${crypto.randomUUID()}` }),
      () => ({ ...genuine, sub: pick(["team:", "team:*", "", "daedalus-chat", `team:${off}`]) }),
      () => ({ ...genuine, iss: pick(["daedalus", "evil", "", "Mnemosyne", "mnemosyne "]) }),
      () => ({ ...genuine, aud: pick(["other", "", [], ["x"], null, {}]) }),
      () => ({ ...genuine, typ: pick([undefined, null, "Team", "team ", 1, ["team"]]) }),
      () => ({ ...genuine, exp: pick([now - 31, 0, -1, 1, null, "9999999999", undefined, 1e300]) }),
      () => turnClaims({ aud, libs: pick([undefined, null, "*", {}, 7, [7], [null], [["a"]]]) }),
      () => turnClaims({ aud, exp: now + 601 + randomInt(1e6) }),
      () => turnClaims({ aud, iat: pick([undefined, null, now + 3_600, "now"]) }),
      () => turnClaims({ aud, sub: pick([undefined, "", 7, null, "x".repeat(500)]) }),
      () => turnClaims({ aud, jti: pick([undefined, "", 7, null, "x".repeat(500)]) }),
      () => turnClaims({ aud, ws: pick([7, "", null, {}]) }),
      () => turnClaims({ aud: pick(["other", undefined]) }),
      () => turnClaims({ aud, typ: pick(["team", "x"]) }),
    ];
    const kinds: (() => string | Promise<string>)[] = [
      () => mutate(opaque),
      () => mutate(jwt),
      () => mutate(former),
      () => mutate(used),
      () => used,
      () => former,
      () => deactivated.jwt!,
      () => ofDisabled.value.secret,
      () => text(1 + randomInt(400)),
      () => `ppt_${text(8)}_${text(43)}_${text(6)}`,
      () => `${encode({ alg: "none", kid })}.${payload}.`,
      () =>
        `${encode({ alg: pick(["none", "None", "RS256", "EdDSA", "", null]), kid })}.${payload}.${signature}`,
      () =>
        `${encode({ alg: "HS256", kid: pick(["", "..", "../x", "__proto__", "constructor", 7, null, [kid], `${kid} `]) })}.${payload}.${signature}`,
      () => `${encode({ alg: "HS256", kid, crit: ["b64"], b64: false })}.${payload}.${signature}`,
      () => `${encode(JSON.parse(`${"[".repeat(200)}${"]".repeat(200)}`))}.${payload}.${signature}`,
      () => `${Buffer.from(`{"a":`.repeat(500)).toString("base64url")}.${payload}.${signature}`,
      () => `${jwt.split(".")[0]}.${encode({ ...genuine, jti: former })}.${signature}`,
      () => `${text(randomInt(30))}.${text(randomInt(30))}.${text(randomInt(30))}`,
      () => wrongly(genuine),
      () => wrongly(turnClaims({ aud })),
      () => wrongly({ ...genuine, sub: `team:${off}` }),
      async () => mutate(await forge(turnClaims({ aud }))),
      () => forge(pick(claims)()),
      () => forge(pick(claims)()),
      () => forge(pick(claims)()),
    ];
    const answers = new Map<string, number>();
    const wrong: string[] = [];
    let left = TOKENS;
    const send = async (): Promise<void> => {
      while (left-- > 0) {
        const token = await pick(kinds)();
        const reply = await fetch(`${url}/sees`, { headers: { authorization: `Bearer ${token}` } });
        const { error } = (await reply.json()) as { error?: { message: string } };
        const answer = `${reply.status} ${error?.message}`;
        answers.set(answer, (answers.get(answer) ?? 0) + 1);
        if (reply.status !== 401 || !MESSAGES.has(error?.message ?? ""))
          wrong.push(`${answer}: ${token.slice(0, 400)}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, send));
    process.stdout.write(`${JSON.stringify(Object.fromEntries(answers))}\n`);
    expect(wrong.slice(0, 10)).toEqual([]);
    const counted = [
      ...(await (await gateway.manage()).metrics()).matchAll(
        /^mcp_auth_failures_total\{.*\} (\d+)$/gm,
      ),
    ];
    expect(counted.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(TOKENS);
    const genuineStill = await fetch(`${url}/sees`, {
      headers: { authorization: `Bearer ${jwt}` },
    });
    expect(await genuineStill.json()).toEqual(["lib-a", "lib-b"]);
  },
);
