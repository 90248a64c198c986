/** The servers behind the gateway: one of each kind, and what can be done to them. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { freePort } from "../gateway.mjs";

const fixture = (name) =>
  fileURLToPath(new URL(`../../fixtures/upstreams/${name}.mjs`, import.meta.url));
const own = (name) => fileURLToPath(new URL(`${name}.mjs`, import.meta.url));

/** A child of the gateway. */
class StdioServer {
  constructor(name, args, kind = "stdio") {
    Object.assign(this, { name, args, kind });
  }

  get entry() {
    return { command: process.execPath, args: this.args };
  }

  async start() {}
  async stop() {}

  /** Its process, found below the gateway's. */
  pid(children) {
    return children.find(({ command }) => command.includes(this.args.join("\0")))?.pid;
  }
}

/** A process of its own, which comes back on the same port. */
class HttpServer {
  kind = "http";

  constructor(name, args, more = {}) {
    Object.assign(this, { name, args, more });
  }

  get entry() {
    return { url: this.url, ...this.more };
  }

  async start() {
    this.port ??= await freePort();
    this.child = spawn(process.execPath, this.args, {
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...process.env, PORT: String(this.port) },
    });
    for await (const line of createInterface({ input: this.child.stdout }))
      if (line.startsWith("{")) return void (this.url = JSON.parse(line).url);
    throw new Error(`${this.name} did not start.`);
  }

  async stop() {
    this.child?.kill("SIGKILL");
  }

  pid() {
    return this.child.pid;
  }
}

/** Part of the gateway: nothing can be done to it. */
const plugin = { name: "chaos", kind: "plugin" };

export const SERVERS = [
  new StdioServer("stdio_legacy", [fixture("legacy"), "stdio"]),
  new StdioServer("stdio_modern", [fixture("modern"), "stdio"]),
  new HttpServer("http_legacy", [fixture("legacy"), "http"]),
  new HttpServer("http_modern", [fixture("modern"), "http"]),
  new HttpServer("sse", [own("sse")], { transport: "sse" }),
  new StdioServer("hostile", [own("hostile")], "hostile"),
  plugin,
];
