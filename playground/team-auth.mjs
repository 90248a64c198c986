// npm run team-auth: two teams find different documents through one gateway, and one of them loses its token while it listens.
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { build, install, root } from "./ready.mjs";

install();
build();
const { createFileGateway } = await import("../dist/core/index.js");
const { freePort } = await import("../dist/core/cli/index.js");
const folder = mkdtempSync(join(tmpdir(), "propylon-team-auth-"));
const adminKey = randomBytes(24).toString("base64url");
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const gateway = await createFileGateway(join(root, "playground/team-auth/gateway.yaml"), {
  environment: {
    ...process.env,
    PORT: String(port),
    DATABASE: join(folder, "gateway.db"),
    ADMIN_KEY: adminKey,
    SECRET_KEY: randomBytes(32).toString("base64url"),
  },
});
try {
  await gateway.listen();
  await show();
} finally {
  await gateway.close({ grace: 1_000 });
  rmSync(folder, { recursive: true, force: true });
}

async function show() {
  await administer("POST", "/users", { id: "ada" });
  for (const uid of ["guides", "plugins"])
    await administer("POST", "/libraries", { uid, workspace_id: `ws-${uid}`, owner: "ada" });
  const alpha = await makeTeam("Alpha", "ws-guides");
  const beta = await makeTeam("Beta", "ws-plugins");
  for (const { name, jwt } of [alpha, beta]) await showDocuments(name, jwt);
  await showDocuments("Ada, a user,", await makeToken("ada", "plugins"));
  const guide = { library: "guides", name: "access.md" };
  console.log(`Beta reads guides/access.md: ${await call(beta.jwt, "get_document", guide)}`);

  console.log("Alpha listens on a stream.");
  const stream = await openStream(alpha.jwt);
  const before = performance.now();
  const { jwt, ended } = await administer("POST", `/teams/${alpha.id}/rotate`);
  const last = await stream.ended;
  console.log(
    `Alpha gets a new token. Ended: ${ended.sessions} sessions, ${ended.streams} streams.`,
  );
  console.log(`The stream ended after ${Math.round(performance.now() - before)} ms: ${last}`);
  console.log(`The old token: ${await call(alpha.jwt, "list_libraries", {})}`);
  console.log(`The new token: ${await call(jwt, "list_libraries", {})}`);
}

async function makeTeam(name, workspace) {
  const id = randomUUID();
  const { jwt } = await administer("POST", "/teams", { id, name });
  await administer("PUT", `/teams/${id}/workspaces`, { workspace_ids: [workspace] });
  return { id, name, jwt };
}

/** Makes a token with which a user's own client sees one library. */
async function makeToken(user, library) {
  const made = await administer("POST", "/tokens", { user, name: "laptop", libraries: [library] });
  return made.secret;
}

async function showDocuments(name, bearer) {
  const { results } = JSON.parse(await call(bearer, "search", { query: "token" }));
  const [first] = results;
  const libraries = [...new Set(results.map(({ library }) => library))].join(", ");
  console.log(`${name} searches "token": ${results.length} documents of ${libraries}`);
  console.log(`  ${first.library}/${first.name}: ${first.passage.slice(0, 60)}`);
}

/** Calls a tool with the official client; what it answers, or why it was refused. */
async function call(jwt, name, args) {
  const client = new Client({ name: "demo", version: "1.0.0" });
  const headers = { authorization: `Bearer ${jwt}` };
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers },
  });
  try {
    await client.connect(transport);
    const { content } = await client.callTool({ name, arguments: args });
    return content[0].text;
  } catch (error) {
    return /"message":"([^"]+)"/.exec(error.message)?.[1] ?? error.message;
  } finally {
    await client.close();
  }
}

/** Opens the stream on which a server tells a client of changes. */
async function openStream(jwt) {
  const headers = {
    authorization: `Bearer ${jwt}`,
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
  };
  const clientInfo = { name: "demo", version: "1.0.0" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const hello = await fetch(`${url}/mcp`, { method: "POST", headers, body });
  headers["mcp-session-id"] = hello.headers.get("mcp-session-id");
  await hello.text();
  const response = await fetch(`${url}/mcp`, { headers });
  return { ended: endOf(response) };
}

async function endOf(response) {
  let text = "";
  try {
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) text += piece;
  } catch {
    // Cut off is ended, too.
  }
  return /"message":"([^"]+)"/.exec(text)?.[1] ?? "closed";
}

async function administer(method, path, body) {
  const response = await fetch(`${url}/_meta/team-auth${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok)
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
