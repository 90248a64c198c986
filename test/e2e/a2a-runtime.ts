import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { mortal } from "../fixtures/process/mortal.mjs";
import { SCRIPTED } from "../plugins/a2a-contract/kit.ts";

/** A runtime in a process of its own, started as a container starts it. */
export interface RuntimeProcess {
  readonly child: ChildProcess;
  readonly url: string;
  /** Lines of its standard output, as they come. */
  readonly lines: readonly string[];
  readonly exit: Promise<{
    readonly code: number | null;
    readonly signal: string | null;
    /** Of `performance.now()`. */
    readonly at: number;
  }>;
}

/** A config whose only plugin serves the scripted skill, on the first listener or where the container says. */
export async function writeConfig(folder: string, port?: number): Promise<string> {
  const file = join(folder, `runtime-${port ?? "container"}.json`);
  const skills = [{ id: "scripted", function: SCRIPTED }];
  const place = port === undefined ? {} : { listener: "main" };
  const listeners = { main: { port } };
  await writeFile(
    file,
    JSON.stringify({
      log: { format: "json" },
      plugins: { a2a: { skills, ...place } },
      ...(port !== undefined && { listeners }),
    }),
  );
  return file;
}

/** Starts `propylon start` and waits for the line that says where it serves. */
export async function startRuntimeProcess(
  main: string,
  config: string,
  env: Readonly<Record<string, string>> = {},
): Promise<RuntimeProcess> {
  const child = spawn(...mortal(process.execPath, [main, "start", config]), {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  const exit = once(child, "exit").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as string | null,
    at: performance.now(),
  }));
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => {
    complaint += String(chunk);
    process.stderr.write(chunk);
  });
  const lines: string[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      lines.push(line);
      const { msg, endpoints } = JSON.parse(line) as {
        msg?: string;
        endpoints?: { url: string }[];
      };
      if (msg === "gateway ready") resolve(new URL(endpoints![0]!.url).origin);
    });
    child.once("close", (code) =>
      reject(new Error(`It ended before it was ready (${code}): ${complaint}`)),
    );
  });
  return { child, url, lines, exit };
}
