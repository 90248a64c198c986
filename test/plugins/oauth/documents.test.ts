import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ClientDocuments } from "../../../plugins/oauth/clients/client-documents.ts";
import { ask } from "../oauth-resource/kit.ts";
import { documentOf, sendJson, type Serve, serveDocuments } from "./client-documents.ts";
import { setupLogin } from "./kit.ts";
import { Program } from "./attempt.ts";

/** Addresses that are not public, in the spellings that URL parsers and resolvers take. */
const PRIVATE: readonly string[] = [
  "127.0.0.1",
  "127.1",
  "127.0.1",
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0177.0.0.1",
  "017700000001",
  "0",
  "0.0.0.0",
  "[::1]",
  "[::]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[64:ff9b::7f00:1]",
  "[2002:7f00:1::]",
  "[fe80::1]",
  "[fd00::1]",
  "[fd00:ec2::254]",
  "10.0.0.1",
  "172.16.0.1",
  "192.168.1.1",
  "169.254.169.254",
  "100.100.100.200",
  "168.63.129.16",
  "localhost",
  "LOCALHOST",
  "127.0.0.1.",
  "１２７.0.0.1",
];

/** Not a public https URL with a path that is written in one way. */
const UNUSABLE: readonly string[] = [
  "http://app.example/client.json",
  "https://app.example",
  "https://app.example/",
  "https://user:secret@app.example/client.json",
  "https://app.example/client.json#part",
  "https://app.example/a/../client.json",
  "https://app.example:443/client.json",
  "https://App.example/client.json",
  "https:\\\\app.example\\client.json",
  `https://app.example/${"x".repeat(500)}`,
];

describe("a document about a program", () => {
  it("lets it log people in without a registration, and is fetched once", async () => {
    const { url, paths } = await serveDocuments((_req, res, own) => sendJson(res, documentOf(own)));
    const rig = await setupLogin({ options: { allowedAddresses: ["127.0.0.1"] } });
    const program = new Program(rig.url);
    program.id = url;
    let page = "";
    const tokens = await program.tokens({ onConsent: ({ text }) => void (page = text) });
    expect((await ask(rig.endpoint, tokens.access_token)).status).toBe(200);
    expect(page).toContain(`<dd>${new URL(url).host}</dd>`);
    expect(page).toContain("a program on this computer");
    await program.tokens();
    expect(paths).toEqual(["/client.json"]);
  });

  it.each<[string, Serve]>([
    [
      "names another client_id",
      (_req, res) => sendJson(res, documentOf("https://other.example/c")),
    ],
    ["is behind a redirect", (_req, res, own) => void res.writeHead(302, { location: own }).end()],
    [
      "has no redirect URI",
      (_req, res, own) => sendJson(res, { ...documentOf(own), redirect_uris: ["data:,x"] }),
    ],
    [
      "has a shared secret",
      (_req, res, own) =>
        sendJson(res, { ...documentOf(own), token_endpoint_auth_method: "client_secret_post" }),
    ],
    [
      "is larger than 64 KiB",
      (_req, res, own) => sendJson(res, { ...documentOf(own), more: "x".repeat(65_536) }),
    ],
    ["is no JSON", (_req, res) => void res.writeHead(200).end("<html>")],
    [
      "is deeper than any",
      (_req, res) => void res.writeHead(200).end(`${"[".repeat(5_000)}${"]".repeat(5_000)}`),
    ],
    ["is missing", (_req, res) => void res.writeHead(404).end("{}")],
    ["is cut off", (_req, res) => void res.destroy()],
  ])("that %s counts for nothing, and is not asked for again at once", async (_name, serve) => {
    const { url, paths } = await serveDocuments(serve);
    const documents = new ClientDocuments(["127.0.0.1"]);
    onTestFinished(() => documents.close());
    for (let count = 0; count < 3; count++)
      await expect(documents.read(url, "a")).rejects.toMatchObject({ code: "invalid_client" });
    expect(paths).toEqual(["/client.json"]);
  });

  it("is not fetched where a name leads to a private address (DNS rebinding)", async () => {
    const { url, paths } = await serveDocuments((_req, res, own) => sendJson(res, documentOf(own)));
    const documents = new ClientDocuments([]);
    onTestFinished(() => documents.close());
    await expect(documents.read(url, "a")).rejects.toThrow("its address is not public");
    expect(paths).toEqual([]);
  });

  it("attacks S4: is refused with the same words for a name that leads inside and one that nobody knows", async () => {
    const { url: inside } = await serveDocuments((_req, res, own) =>
      sendJson(res, documentOf(own)),
    );
    const { url } = await setupLogin();
    const tell = async (id: string): Promise<readonly [number, string]> => {
      const program = new Program(url);
      program.id = id;
      const page = await fetch(program.start(), { redirect: "manual" });
      return [page.status, (await page.text()).replaceAll(/nonce="?[\w+/=-]+"?/g, "")];
    };
    const [status, text] = await tell(inside);
    expect([status, text]).toEqual([400, expect.stringContaining("its address is not public")]);
    for (const id of [
      "https://nowhere.invalid/x",
      "https://a-b.nowhere.invalid:8443/x",
      "https://10.0.0.1/x",
    ])
      expect(await tell(id)).toEqual([status, text]);
  });

  it.each(PRIVATE)("is not fetched from %s", async (host) => {
    const documents = new ClientDocuments([]);
    onTestFinished(() => documents.close());
    await expect(documents.read(`https://${host}/client.json`, "a")).rejects.toMatchObject({
      code: "invalid_client",
      message: expect.stringMatching(/not public|not a plain https URL/) as string,
    });
  });

  it.each(UNUSABLE)("is not %s", async (id) => {
    const documents = new ClientDocuments([]);
    onTestFinished(() => documents.close());
    await expect(documents.read(id, "a")).rejects.toMatchObject({ code: "invalid_client" });
  });

  it("has a URL of 400 characters, and eight levels, and not one more", async () => {
    const { url } = await serveDocuments((req, res, own) => {
      const depth = Number(/depth=(\d+)/.exec(req.url!)?.[1]);
      const more = `${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}`;
      const id = new URL(req.url!, own).href;
      const document = JSON.stringify(documentOf(id)).slice(0, -1);
      res.writeHead(200).end(`${document},"more":${more}}`);
    });
    const documents = new ClientDocuments(["localhost"]);
    onTestFinished(() => documents.close());
    const at = (depth: number, length = 300): string => {
      const id = `${url}?depth=${depth}&x=`;
      return id + "x".repeat(length - id.length);
    };
    await expect(documents.read(at(8, 400), "a")).resolves.toHaveProperty("name");
    await expect(documents.read(at(8, 401), "a")).rejects.toThrow("not a plain https URL");
    await expect(documents.read(at(9), "a")).rejects.toThrow("it is not such a document");
  });

  it("is not asked for more often than an address may cause", async () => {
    const documents = new ClientDocuments([]);
    onTestFinished(() => documents.close());
    // Names that nobody knows may take seconds to be looked for, in which the address would get requests back.
    const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
    onTestFinished(() => clock.mockRestore());
    const codes: string[] = [];
    for (let count = 0; count < 32; count++) {
      const error = await documents
        .read(`https://nowhere.invalid/${count}`, "a")
        .catch((thrown: unknown) => thrown);
      codes.push((error as { code: string }).code);
    }
    expect(new Set(codes.slice(0, 30))).toEqual(new Set(["invalid_client"]));
    expect(codes[31]).toBe("temporarily_unavailable");
    await expect(documents.read("https://nowhere.invalid/x", "b")).rejects.toMatchObject({
      code: "invalid_client",
    });
  });

  it("that cannot be used is told to the person, and nobody is redirected", async () => {
    const { url } = await setupLogin();
    const program = new Program(url);
    program.id = "https://127.0.0.1/client.json";
    const response = await fetch(program.start(), { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([400, null]);
    expect(await response.text()).toContain("its address is not public");
  });
});
