import { describe, expect, it } from "vitest";
import { gzipSync } from "node:zlib";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { PETS, startApi } from "./api.ts";
import { until } from "../../kit/until.ts";
import { serve } from "../a2a-client/runtime.ts";
import { callPets, petsConfig, startPets } from "./kit.ts";

describe("what an API answers", () => {
  it("becomes the content it is", async () => {
    const api = await startApi();
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    const answer = (kind: string) => callPets(gateway, "answer", { kind });
    expect(await answer("object")).toEqual({
      content: [{ type: "text", text: '{"a":1}' }],
      structuredContent: { a: 1 },
    });
    expect(await answer("list")).toEqual({ content: [{ type: "text", text: "[1,2]" }] });
    expect(await answer("text")).toEqual({ content: [{ type: "text", text: "hello" }] });
    expect(await answer("image")).toEqual({
      content: [{ type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }],
    });
    expect(await answer("audio")).toMatchObject({
      content: [{ type: "audio", mimeType: "audio/wav" }],
    });
    expect(await answer("bytes")).toEqual({
      content: [
        {
          type: "resource",
          resource: {
            uri: `${api.origin}/v1/answer/bytes`,
            mimeType: "application/zip",
            blob: "iVBORw0KGgo=",
          },
        },
      ],
    });
    expect(await answer("nothing")).toEqual({
      content: [{ type: "text", text: "HTTP 204 No Content" }],
    });
    expect(await answer("broken")).toEqual({ content: [{ type: "text", text: "{" }] });
  });

  it("is the tool's failure from 400 on, with an excerpt", async () => {
    const api = await startApi();
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    expect(await callPets(gateway, "answer", { kind: "missing" })).toEqual({
      isError: true,
      content: [{ type: "text", text: 'HTTP 404 Not Found.\n\n{"detail":"no such pet"}' }],
    });
    const fault = await callPets(gateway, "answer", { kind: "fault" });
    expect((fault["content"] as { text: string }[])[0]!.text).toHaveLength(
      2_000 + "HTTP 500 Internal Server Error.\n\n".length,
    );
  });

  it("is followed to the same host only, and not for ever", async () => {
    const api = await startApi();
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    expect(await callPets(gateway, "answer", { kind: "here" })).toMatchObject({
      content: [{ text: "hello" }],
    });
    for (const kind of ["away", "round"])
      expect(await callPets(gateway, "answer", { kind })).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^HTTP 302 Found\. It redirects/) as string }],
      });
  });

  it("is bounded, compressed or not", async () => {
    const api = await startApi();
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml`, maxResult: 100_000 });
    await expect(callPets(gateway, "answer", { kind: "large" })).rejects.toMatchObject({
      code: "result_too_large",
      data: { server: "pets", limit: 100_000 },
    });
    const bomb = createServer((req, res) => {
      if (req.url === "/openapi.yaml") return void res.end(PETS);
      const body =
        req.url === "/v1/answer/text" ? Buffer.from("small") : Buffer.alloc(5_000_000, 32);
      res
        .writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" })
        .end(gzipSync(body));
    });
    await new Promise<void>((resolve) => bomb.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      bomb.close();
      bomb.closeAllConnections();
    });
    const spec = `http://127.0.0.1:${(bomb.address() as AddressInfo).port}/openapi.yaml`;
    const second = await startPets({ spec, maxResult: 100_000 });
    expect(await callPets(second.gateway, "answer", { kind: "text" })).toMatchObject({
      content: [{ text: "small" }],
    });
    await expect(callPets(second.gateway, "answer", { kind: "x" })).rejects.toMatchObject({
      code: "result_too_large",
    });
  });

  it("ends with its caller, at the deadline, and with the network", async () => {
    const api = await startApi();
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml`, timeout: "200ms" });
    await expect(callPets(gateway, "answer", { kind: "hang" })).rejects.toMatchObject({
      code: "timeout",
    });
    const caller = new AbortController();
    const call = gateway.call({
      server: "pets",
      name: "answer",
      args: { kind: "hang" },
      signal: caller.signal,
      timeout: 60_000,
    });
    await until(() => api.received.length === 2);
    caller.abort();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    await expect(callPets(gateway, "answer", { kind: "reset" })).rejects.toMatchObject({
      code: "upstream_error",
    });
    await api.kill();
    await expect(callPets(gateway, "answer", { kind: "text" })).rejects.toMatchObject({
      code: "upstream_error",
      message: 'Server "pets" cannot be used: the connection was refused.',
    });
  });
});

describe("a document that changes", () => {
  it("M106: the same document read again rebuilds nothing and tells nobody; another one does", async () => {
    const api = await startApi();
    const { gateway, client } = await startPets({
      spec: `${api.origin}/openapi.yaml`,
      refreshInterval: "20ms",
    });
    const server = gateway.servers.get("pets")!;
    const { catalogue } = server;
    let told = 0;
    gateway.hook("server:catalogue", () => void told++);
    const read = api.reads;
    await until(() => api.reads >= read + 3);
    expect(server.catalogue).toBe(catalogue);
    expect(told).toBe(0);
    api.document = PETS.replace("operationId: note", "operationId: memo");
    await until(() => told === 1);
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    // What clients see is made in the next turns.
    await until(async () => (await names()).includes("memo"));
    api.document = "{";
    await until(() => server.status.state === "degraded");
    expect(server.status.reason).toMatch(/neither JSON nor YAML/);
    expect(await callPets(gateway, "memo", { body: "still" })).toMatchObject({
      structuredContent: { a: 1 },
    });
    api.document = PETS;
    await until(() => server.status.state === "ready" && told === 2);
  });

  it("that never ends is given up at connectTimeout, and tried again", async () => {
    const mute = createServer((req, res) => {
      res.writeHead(200).write("openapi: 3.1.0\n");
    });
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      mute.close();
      mute.closeAllConnections();
    });
    const spec = `http://127.0.0.1:${(mute.address() as AddressInfo).port}/openapi.yaml`;
    const { gateway } = await startPets({ spec, connectTimeout: "100ms" });
    expect(gateway.servers.get("pets")!.status).toMatchObject({
      state: "backoff",
      reason: 'Server "pets" did not send the OpenAPI document in time.',
    });
  });

  it("a reload with other options shows the old tools until the new document is there, and drains the old server", async () => {
    const api = await startApi();
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    const old = gateway.servers.get("pets")!;
    const report = await gateway.apply(
      petsConfig({ spec: `${api.origin}/openapi.yaml`, operations: { include: ["getPet"] } }),
    );
    expect(report.servers.changed).toEqual(["pets"]);
    const server = gateway.servers.get("pets")!;
    expect(server).not.toBe(old);
    expect(server.catalogue.tools.length).toBeGreaterThan(0);
    // Until then the old one serves, so that the state tells nothing.
    await until(() => server.catalogue.tools.length === 1);
    expect(server.catalogue.tools.map(({ name }) => name)).toEqual(["getPet"]);
    await until(() => old.status.state === "closed");
  });
});

describe("a document that nests too deep", () => {
  const schema = (depth: number): string =>
    `${'{"properties":{"a":'.repeat(depth)}{}${"}}".repeat(depth)}`;
  const json = (depth: number): string =>
    `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"/a":{"post":{"operationId":"deep",
      "requestBody":{"content":{"application/json":{"schema":${schema(depth)}}}},"responses":{}}}}}`;
  const yaml = (depth: number): string =>
    `openapi: 3.1.0\ninfo: { title: t, version: "1" }\npaths: {}\nx-deep:\n  ${"- ".repeat(depth)}1\n`;
  const flow = (depth: number): string =>
    `openapi: 3.1.0\ninfo: { title: t, version: "1" }\npaths: {}\nx-deep: ${"[".repeat(depth)}${"]".repeat(depth)}\n`;

  it.each([
    ["JSON, 1,000", json(1_000)],
    ["JSON, 100,000", json(100_000)],
    ["YAML, 1,000", yaml(1_000)],
    ["YAML in one line, 20,000", flow(20_000)],
  ])("is refused with a sentence: %s", async (_what, text) => {
    const spec = await serve((_req, res) => void res.end(text));
    const { gateway } = await startPets({ spec: `${spec}/openapi`, baseUrl: "http://127.0.0.1:9" });
    expect(gateway.servers.get("pets")!.status).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("nests deeper than 200 levels") as string,
    });
  });
});
