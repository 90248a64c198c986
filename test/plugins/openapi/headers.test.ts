import { expect, it } from "vitest";
import { fakeUpstream, setupGateway } from "../../../core/testing/index.ts";
import openapi from "../../../plugins/openapi/index.ts";

/** What proxies and clients put their credentials in. */
const CREDENTIALS = [
  "x-forwarded-access-token",
  "x-goog-iap-jwt-assertion",
  "cf-access-jwt-assertion",
  "x-auth-request-access-token",
  "x-amzn-oidc-data-token",
  "x-ms-token-aad-access-token",
  "x-csrf-token",
  "x-client-secret",
  "x-openai-api-key",
  "x-apikey",
  "x-session-id",
  "x-user-password",
  "x-forwarded-client-cert",
  "x-hub-signature-256",
];

async function callWith(allow: readonly string[], headers: Record<string, string>) {
  const shop = await fakeUpstream({ price: () => "3 EUR" });
  const { url } = await setupGateway({
    plugins: [[openapi, { forwardHeaders: { shop: { allow } } }]],
    config: { servers: { shop: { url: shop.url } } },
    client: false,
  });
  const reply = await fetch(`${url}/shop/price`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: "{}",
  });
  expect(reply.status).toBe(200);
  return shop.calls[0]!.meta?.["headers"] as Record<string, string> | undefined;
}

it.each([["*"], ["x-*"], ["*token*"], ["*-assertion"], ["X-FORWARDED-*"]])(
  "S3-1: the wildcard %s passes no credential of a proxy",
  async (pattern) => {
    const sent = Object.fromEntries(CREDENTIALS.map((name) => [name, "secret"]));
    const kept = await callWith([pattern, "x-tenant"], { ...sent, "x-tenant": "a" });
    expect(JSON.stringify(kept)).not.toContain("secret");
    expect(kept).toMatchObject({ "x-tenant": "a" });
  },
);

it("S3-1: one that is named in full is passed, in any case, but for those of the gateway itself", async () => {
  const kept = await callWith(["X-Forwarded-Access-Token", "x-api-key", "cookie"], {
    "x-forwarded-access-token": "wanted",
    "x-api-key": "secret",
    cookie: "a=b",
    "x-csrf-token": "secret",
  });
  expect(kept).toEqual({ "x-forwarded-access-token": "wanted" });
});
