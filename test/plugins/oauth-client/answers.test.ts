import { expect, it } from "vitest";
import {
  readChallenge,
  splitScopes,
  unite,
} from "../../../plugins/oauth-client/provider/challenge.ts";
import { findMetadata } from "../../../plugins/oauth-client/provider/metadata.ts";
import { Mismatch } from "../../../plugins/oauth-client/provider/faults.ts";
import { isBrowsable } from "../../../plugins/oauth-client/provider/provider.ts";
import { readTokenAnswer } from "../../../plugins/oauth-client/provider/token-answer.ts";

const GOOD = { access_token: "token-of-ada", token_type: "Bearer" };

/** What the log has of an answer that cannot be used. */
async function cameOf(response: Response): Promise<string> {
  const fault: unknown = await readTokenAnswer(response).catch((error: unknown) => error);
  const { cause } = fault as Error;
  if (!(cause instanceof Mismatch)) throw new Error("the answer was taken");
  return cause.came;
}

it("of an answer without a token the log has its status, its type and the first 20 names", async () => {
  const names = Array.from({ length: 25 }, (_, at) => `m${at}`);
  const body = Object.fromEntries(names.map((name) => [name, "secret"]));
  expect(await cameOf(Response.json(body))).toBe(
    `HTTP 200, application/json with ${names.slice(0, 20).join(", ")}`,
  );
  expect(await cameOf(Response.json({}))).toBe("HTTP 200, application/json with no member");
  expect(await cameOf(Response.json([], { status: 200 }))).toBe("HTTP 200, application/json");
  expect(await cameOf(new Response(null, { status: 502 }))).toBe("HTTP 502, without a type");
});

it("an error is told with 400, whatever its status is, and an error beside a token is not one", async () => {
  for (const status of [200, 400, 401, 403]) {
    const body = { error: "invalid_grant", error_description: "it is over", more: 1 };
    const answer = await readTokenAnswer(Response.json(body, { status }));
    expect([answer.status, await answer.json()]).toEqual([
      400,
      { error: "invalid_grant", error_description: "it is over" },
    ]);
  }
  const both = await readTokenAnswer(Response.json({ ...GOOD, error: "x" }));
  expect([both.status, await both.json()]).toEqual([
    200,
    { access_token: "token-of-ada", token_type: "bearer" },
  ]);
  const empty = await readTokenAnswer(Response.json({ ...GOOD, error: "" }));
  expect(empty.status).toBe(200);
  await expect(readTokenAnswer(Response.json({ error: "" }))).rejects.toThrow("no access_token");
});

it.each([
  [undefined, undefined],
  [null, undefined],
  ["soon", undefined],
  [-1, undefined],
  [{}, undefined],
  [0, 0],
  [60, 60],
  ["60", 60],
  [1e300, 315_360_000],
])("expires_in %j is read as %j", async (written, read) => {
  const answer = await readTokenAnswer(Response.json({ ...GOOD, expires_in: written }));
  expect(((await answer.json()) as { expires_in?: number }).expires_in).toBe(read);
});

it("a challenge names an error, scopes and metadata, or nothing", () => {
  expect(readChallenge('Bearer error="invalid_token"')).toEqual({ error: "invalid_token" });
  expect(readChallenge('Bearer realm="x"')).toEqual({});
  expect(readChallenge("Basic realm=x")).toEqual({});
  expect(readChallenge('Basic realm="x", Bearer scope="a b a", resource_metadata=/m')).toEqual({
    scopes: ["a", "b"],
    metadata: "/m",
  });
});

it("scopes are united, each once, and 100 at most", () => {
  expect(unite(["a", "b"], ["b", "c"])).toEqual(["a", "b", "c"]);
  const many = Array.from({ length: 101 }, (_, at) => `s${at}`);
  expect(unite(many, [])).toEqual(many.slice(0, 100));
  expect(splitScopes(many.join(" "))).toEqual(many.slice(0, 100));
});

it.each([500, 503])(
  "metadata that are answered with %i may be there, and are not passed over",
  async (status) => {
    const fetch = async () => new Response("{}", { status });
    await expect(findMetadata(["https://a.example/m"], "its", fetch)).rejects.toThrow(
      `its metadata answer with HTTP ${status}`,
    );
  },
);

it("metadata are passed over where a place refuses, and the first page of data counts", async () => {
  const answers: Record<string, Response> = {
    "https://a.example/1": new Response("{}", { status: 499 }),
    "https://a.example/2": new Response("<p>", { headers: { "content-type": "text/html" } }),
    "https://a.example/3": Response.json({ issuer: "a" }),
    "https://a.example/4": Response.json({ issuer: "b" }),
  };
  const tried: string[] = [];
  const fetch = async (url: string) => answers[url]!;
  const found = await findMetadata(Object.keys(answers), "its", fetch, tried);
  expect(found!.url).toBe("https://a.example/3");
  expect(tried).toEqual(["499 at https://a.example/1", "200 at https://a.example/2"]);
  expect(await findMetadata([], "its", fetch)).toBeUndefined();
});

it.each([
  ["https://login.example/authorize", true],
  ["http://127.0.0.1:8080/authorize", true],
  ["http://localhost/authorize", true],
  ["http://login.example/authorize", false],
  ["javascript:alert(1)", false],
  ["data:text/html,x", false],
  ["/authorize", false],
])("%s can be shown to a browser: %s", (url, expected) => {
  expect(isBrowsable(url)).toBe(expected);
});
