import { once } from "node:events";
import { fork, spawn, spawnSync } from "node:child_process";
import { readFileSync, readdirSync, rmSync } from "node:fs";
import net from "node:net";
import { fileURLToPath } from "node:url";

const hasTaskset = spawnSync("taskset", ["--version"]).status === 0;
const STDIO_UPSTREAM = fileURLToPath(new URL("targets/stdio-upstream.mjs", import.meta.url));
const READY_MS = 60_000;
const running = new Set();

/** A target, an upstream or the load generator: a Node process that says `{ port }` over IPC when it serves. */
export class Process {
  #child;
  #home;
  port;
  /** Milliseconds from spawn to ready, and the CPU milliseconds spent until then. */
  startWall;
  startCpu;

  /**
   * @param script path below test/bench
   * @param core CPU core to pin to: 0 for what is measured, 1 for load and upstreams
   */
  static async start(script, { config, core, env, port = true, execArgv = ["--expose-gc"] }) {
    const started = new Process();
    const from = performance.now();
    const file = fileURLToPath(new URL(script, import.meta.url));
    started.#child = fork(file, config === undefined ? [] : [JSON.stringify(config)], {
      execArgv,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      env: { ...process.env, NODE_ENV: "production", ...env },
      ...pinned(core, execArgv),
    });
    running.add(started);
    if (port) started.port = (await started.#ready(script)).port;
    started.startWall = performance.now() - from;
    started.startCpu = started.cpu() / 1000;
    return started;
  }

  /**
   * Starts a program that knows nothing of this benchmark: ready once it accepts connections on `port`.
   *
   * @param home a folder that it takes for the user's, removed when it stops: some keep lists, logs and caches there
   */
  static async launch(args, { port, home, core = 0, env = {}, program = process.execPath }) {
    const started = new Process();
    started.#home = home;
    const from = performance.now();
    const command = [...(hasTaskset ? ["taskset", "-c", String(core)] : []), program, ...args];
    const name = program === process.execPath ? args[0] : program;
    started.#child = spawn(command[0], command.slice(1), {
      stdio: "ignore",
      env: { ...process.env, NODE_ENV: "production", ...homeOf(home), ...env },
    });
    running.add(started);
    try {
      await started.#listens(name, port);
    } catch (error) {
      await started.stop();
      throw error;
    }
    started.startWall = performance.now() - from;
    started.startCpu = started.cpu() / 1000;
    started.port = port;
    return started;
  }

  get pid() {
    return this.#child.pid;
  }

  /** Sends a message and resolves with the answer. */
  ask(message) {
    const reply = this.#reply();
    this.#child.send(message);
    return reply;
  }

  async #listens(name, port) {
    const until = performance.now() + READY_MS;
    while (!(await accepts(port))) {
      if (this.#child.exitCode !== null)
        throw new Error(`${name} exited with code ${this.#child.exitCode}`);
      if (performance.now() > until)
        throw new Error(`${name} does not listen on its port after ${READY_MS / 1_000} s`);
    }
  }

  /** A target that never gets ready would hold the whole run. */
  async #ready(script) {
    const late = AbortSignal.timeout(READY_MS);
    const gaveUp = once(late, "abort").then(() => {
      throw new Error(`${script} is not ready after ${READY_MS / 1_000} s`);
    });
    return Promise.race([this.#reply(), gaveUp]);
  }

  #reply() {
    return new Promise((resolve, reject) => {
      const exited = (code) =>
        reject(new Error(`${this.#child.spawnargs.at(-2)} exited with code ${code}`));
      this.#child.once("exit", exited);
      this.#child.once("message", (message) => {
        this.#child.off("exit", exited);
        resolve(message);
      });
    });
  }

  /** Pids of its children and theirs, upstreams excepted. */
  children() {
    return tree(this.pid).slice(1);
  }

  /** CPU time in microseconds of this process and its children, upstreams excepted. */
  cpu() {
    return tree(this.pid).reduce((sum, pid) => sum + cpuOf(pid), 0);
  }

  /** Resident memory in MB, upstreams excepted. */
  rss() {
    const kilobytes = tree(this.pid).map((pid) =>
      Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0),
    );
    return kilobytes.reduce((sum, one) => sum + one, 0) / 1024;
  }

  async stop() {
    running.delete(this);
    await this.#kill();
    if (this.#home) rmSync(this.#home, { recursive: true, force: true });
  }

  async #kill() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await gone;
  }
}

function homeOf(folder) {
  return folder && { HOME: folder, XDG_STATE_HOME: folder, XDG_CONFIG_HOME: folder };
}

/** A port that was free a moment ago. */
export function freePort() {
  const server = net.createServer();
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    socket.once("connect", () => (socket.destroy(), resolve(true)));
    socket.once("error", () => setTimeout(resolve, 2, false));
  });
}

/** Stops whatever still runs; for the end of the run and for Ctrl-C. */
export async function stopAll() {
  await Promise.all([...running].map((one) => one.stop()));
}

function pinned(core, execArgv) {
  if (!hasTaskset) return {};
  return { execPath: "taskset", execArgv: ["-c", String(core), process.execPath, ...execArgv] };
}

/** Command line of the stdio upstream, pinned away from the gateway that starts it. */
export function stdioUpstream() {
  return [...(hasTaskset ? ["taskset", "-c", "1"] : []), process.execPath, STDIO_UPSTREAM];
}

/** A process and its descendants, without the upstream server that a gateway starts as its child. */
function tree(pid) {
  if (isUpstream(read(`/proc/${pid}/cmdline`).split("\0"))) return [];
  const children = tasks(pid).flatMap((task) =>
    read(`/proc/${pid}/task/${task}/children`).trim().split(" ").filter(Boolean),
  );
  return [pid, ...children.flatMap((child) => tree(Number(child)))];
}

/** The upstream's own process, or a launcher (taskset, setpriv, sh) on its way to becoming it. */
function isUpstream(args) {
  if (args[0] === process.execPath) return args[1] === STDIO_UPSTREAM;
  return args.some((arg) => arg.endsWith(STDIO_UPSTREAM));
}

/** Nanoseconds on a core, of every thread: the figure that repeats best on a shared machine. */
function cpuOf(pid) {
  return (
    tasks(pid).reduce(
      (sum, task) => sum + Number(read(`/proc/${pid}/task/${task}/schedstat`).split(" ")[0] || 0),
      0,
    ) / 1000
  );
}

function tasks(pid) {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // the process or thread ended meanwhile
  }
}
