import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { once } from "node:events";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeAuthority } from "../../fixtures/certificate.ts";
import { makeFolder } from "../../kit/folder.ts";
import { drainSocket, openRig, type Rig } from "./wire.ts";

let rig: Rig;
let folder: string;
let cert: string;
let key: string;

beforeAll(async () => {
  // A key pair for this test run only: nothing secret is kept in the repository.
  folder = makeFolder();
  cert = join(folder, "cert.pem");
  key = join(folder, "key.pem");
  const made = makeAuthority({ name: "localhost", hosts: ["localhost", "127.0.0.1"] });
  writeFileSync(cert, made.cert);
  writeFileSync(key, made.key);
  rig = await openRig({
    listener: { tls: { cert, key } },
    limits: { headersTimeout: 500, requestTimeout: 1_000 },
  });
});

afterAll(async () => {
  await rig.listener.close(0);
});

async function get(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: string }> {
  const req = request({
    host: "localhost",
    servername: "localhost",
    port: rig.port,
    path,
    headers,
    ca: readFileSync(cert),
    agent: false,
    family: 4,
  });
  req.end();
  const [res] = await once(req, "response");
  let body = "";
  for await (const chunk of res) body += String(chunk);
  return { status: res.statusCode, body };
}

describe("M005: TLS", () => {
  it("serves HTTPS from the configured files and says so", async () => {
    expect(rig.listener.tls).toBe(true);
    expect(rig.url).toBe(`https://127.0.0.1:${rig.port}`);
    expect(await get("/hello")).toEqual({ status: 200, body: "route /hello" });
    expect(await get("/livez")).toEqual({ status: 200, body: "ok\n" });
  });

  it("checks Host and Origin like any listener; its own origin is https", async () => {
    expect((await get("/hello", { host: "evil.example" })).status).toBe(403);
    expect((await get("/hello", { origin: "https://evil.example" })).status).toBe(403);
    expect((await get("/hello", { origin: `https://localhost:${rig.port}` })).status).toBe(200);
  });

  it("refuses TLS 1.1", async () => {
    const socket = connectTls({
      port: rig.port,
      host: "127.0.0.1",
      ca: readFileSync(cert),
      minVersion: "TLSv1.1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    });
    await expect(once(socket, "secureConnect")).rejects.toMatchObject({
      code: expect.stringMatching(/SSL|TLS|ECONNRESET/),
    });
  });

  it("gives up on a handshake that never ends", async () => {
    const socket = connect(rig.port, "127.0.0.1");
    await once(socket, "connect");
    expect(await drainSocket(socket)).toBe("");
  });

  it("names the file or the pair that is wrong", async () => {
    const missing = openRig({ listener: { tls: { cert: join(folder, "none.pem"), key } } });
    await expect(missing).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining("none.pem"),
      hint: expect.stringContaining("listeners.main.tls.cert"),
    });
    const swapped = openRig({ listener: { tls: { cert: key, key: cert } } });
    await expect(swapped).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining("cannot be used together"),
    });
  });
});
