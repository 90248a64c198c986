import { expect, it } from "vitest";
import { KEYS, startSessions } from "./kit.ts";

/** Tries keys that are wrong until nobody looks at them any more. */
async function guess(url: string): Promise<void> {
  for (let at = 0; at < 40; at++)
    await fetch(`${url}/_meta`, { headers: { authorization: `Bearer ${at}-some-wrong-key` } });
}

it("attacks S3-2: while an address is held up the right key is told to wait, and not that it is wrong", async () => {
  const { browser, url } = await startSessions();
  await guess(url);
  const page = browser();
  const headers = { authorization: `Bearer ${KEYS.ops}` };
  const response = await page.ask("POST", "/ui/session", { headers, body: {} });
  expect(response.status).toBe(429);
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
  const { error } = (await response.json()) as { error: { code: string } };
  expect(error.code).toBe("rate_limited");
  expect(response.headers.getSetCookie()).toEqual([]);
  // A wrong key hears the same: the answer tells nothing of it.
  const wrong = { authorization: "Bearer another-wrong-key" };
  expect((await page.ask("POST", "/ui/session", { headers: wrong, body: {} })).status).toBe(429);
  // Public pages work on, and so do sign-ins with nothing to guess.
  expect((await page.ask("GET", "/ui/session", { headers })).status).toBe(200);
  expect((await page.ask("POST", "/ui/session", { body: {} })).status).toBe(401);
  expect((await page.ask("POST", "/ui/session", { body: { code: "wrong" } })).status).toBe(401);
});
