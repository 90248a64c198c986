/** ContextForge has its servers in its own database: they are registered with it once it listens. */
import { createHmac, randomUUID } from "node:crypto";
import { join } from "node:path";

/** It does not start with a secret that is short or well known. */
const SECRET = "Bench-9f2c71d4-a05e-4b7b-8c3e-6d10f7a2b9e4";
const ADMIN = "admin@example.com";

/** Without limits, since a refusal is cheaper than a call, and with leave to ask a server on this machine. */
export function forgeSettings(home) {
  return {
    DATABASE_URL: `sqlite:///${join(home, "forge.db")}`,
    CACHE_TYPE: "memory",
    JWT_SECRET_KEY: SECRET,
    AUTH_ENCRYPTION_SECRET: SECRET,
    PLATFORM_ADMIN_PASSWORD: SECRET,
    DEFAULT_USER_PASSWORD: SECRET,
    RATE_LIMITING_ENABLED: "false",
    TOOL_RATE_LIMIT: "100000000",
    SSRF_ALLOW_LOCALHOST: "true",
  };
}

/** Credentials of its administrator, who registers servers; without any it serves nobody. */
export const FORGE_ADMIN = `Bearer ${token()}`;

export async function registerWithForge(port, url) {
  const server = { name: "upstream", url, transport: "STREAMABLEHTTP", visibility: "public" };
  const response = await fetch(`http://127.0.0.1:${port}/gateways`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: FORGE_ADMIN },
    body: JSON.stringify(server),
  });
  if (!response.ok)
    throw new Error(`registering the server answered ${response.status}: ${await response.text()}`);
}

function token() {
  const now = Math.floor(Date.now() / 1_000);
  const life = { iat: now, exp: now + 3_600, jti: randomUUID() };
  const between = { iss: "mcpgateway", aud: "mcpgateway-api" };
  const user = { email: ADMIN, full_name: "bench", is_admin: true, auth_provider: "local" };
  const admin = { sub: ADMIN, username: ADMIN, is_admin: true, user, teams: null };
  const claims = { ...admin, ...between, ...life };
  const signed = [{ alg: "HS256", typ: "JWT" }, claims].map(encode).join(".");
  return `${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}`;
}

function encode(part) {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}
