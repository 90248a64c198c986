import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { GatewayError } from "../../../core/index.ts";
import { ProviderHttp } from "../../../core/internal.ts";

async function ask(status: number, headers: Record<string, string>, body: string) {
  const server = createServer((_req, res) => {
    res.writeHead(status, headers).end(body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const http = new ProviderHttp({
    allowedAddresses: [],
    option: "allowedAddresses",
    timeout: 5_000,
    fault: (why, cause) => new GatewayError("upstream_error", why, { cause }),
  });
  onTestFinished(async () => {
    await http.close();
    server.close();
  });
  const response = await http.from([new URL(url)])(url);
  const { status: told, headers: sent } = response;
  return { status: told, asked: sent.get("www-authenticate"), text: await response.text() };
}

it.each([
  [200, "[1]", "[1]"],
  [204, "", ""],
  [304, "", ""],
  [401, "{}", "{}"],
])("HTTP %i of a provider is an answer, with its challenge", async (status, body, text) => {
  const asked = "DPoP error=use_dpop_nonce";
  const answer = await ask(status, { "www-authenticate": asked }, body);
  expect(answer).toEqual({ status, asked, text });
});

it("an answer that nests too deep is not handed on, and one that is no JSON is", async () => {
  const deep = `${"[".repeat(17)}${"]".repeat(17)}`;
  await expect(ask(200, {}, deep)).rejects.toThrow("nests too deep");
  expect(await ask(502, {}, "<html>")).toMatchObject({ status: 502, text: "<html>" });
});
