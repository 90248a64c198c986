import { readFile } from "node:fs/promises";

/** A Dockerfile as what it does without Docker. */
export interface Recipe {
  /** Shell script that does its steps; needs the variables `CONTEXT`, the folder that is built, and `ROOT`, an empty one for the stages. */
  readonly script: string;
  /** Working directory of the last stage, below `ROOT`. */
  readonly workdir: string;
  /** Environment of the last stage; paths are below `ROOT`, written as `$ROOT`. */
  readonly env: Readonly<Record<string, string>>;
  /** What the last stage runs. */
  readonly command: readonly string[];
  /** What tells whether it is well. */
  readonly healthcheck: readonly string[];
}

/** What one stage came to so far. */
interface Stage {
  readonly folder: string;
  workdir: string;
  readonly env: Record<string, string>;
}

/**
 * Reads a Dockerfile of our templates: every instruction in it is understood, or the test fails. Each stage is a folder below
 * `ROOT` that stands for the root of its file system.
 *
 * @throws {Error} for an instruction that is not understood
 */
export async function readDockerfile(file: string): Promise<Recipe> {
  const text = (await readFile(file, "utf8")).replaceAll(/^#.*\n/gm, "").replaceAll("\\\n", " ");
  const stages = new Map<string, Stage>();
  const script = ["set -eu", "chown() { :; }"];
  let stage: Stage | undefined;
  let command: readonly string[] = [];
  let healthcheck: readonly string[] = [];
  for (const line of text.split("\n").filter((each) => each.trim() !== "")) {
    const [, word = "", rest = ""] = /^(\w+)\s+(.*)$/.exec(line.trim()) ?? [];
    if (word === "FROM") {
      const [image = "", , name = "final"] = rest.split(/\s+/);
      if (!/^node:\d+-slim$/.test(image)) throw new Error(`An image nobody looked at: ${image}`);
      stage = { folder: `$ROOT/${name}`, workdir: "/", env: {} };
      stages.set(name, stage);
      script.push(`mkdir -p "${stage.folder}"`);
    } else if (stage === undefined) throw new Error(`${word} stands before FROM.`);
    else if (word === "WORKDIR") {
      stage.workdir = rest;
      script.push(`mkdir -p "${stage.folder}${rest}"`);
    } else if (word === "ENV") Object.assign(stage.env, readVariables(rest, stage));
    else if (word === "COPY") script.push(...copy(rest, stage, stages));
    else if (word === "RUN")
      script.push(`(cd "${stage.folder}${stage.workdir}" && ${place(rest, stage)})`);
    else if (word === "CMD") command = JSON.parse(rest) as string[];
    else if (word === "HEALTHCHECK")
      healthcheck = JSON.parse(rest.slice(rest.indexOf("["))) as string[];
    else if (word !== "USER" && word !== "EXPOSE") throw new Error(`${word} is not understood.`);
  }
  return {
    script: script.join("\n"),
    workdir: `${stage!.folder}${stage!.workdir}`,
    env: stage!.env,
    command,
    healthcheck,
  };
}

function readVariables(text: string, { folder }: Stage): Record<string, string> {
  const pairs = text.split(/\s+/).map((pair) => pair.split("=") as [string, string]);
  return Object.fromEntries(
    pairs.map(([name, value]) => [name, value.startsWith("/") ? `${folder}${value}` : value]),
  );
}

/** Absolute paths become those of the stage. */
function place(words: string, { folder }: Stage): string {
  return words.replaceAll(/(?<=\s)\/(?=[a-z])/g, `${folder}/`);
}

/** The content of a folder, or files; a pattern that matches nothing is nothing, as long as something else is there. */
function copy(text: string, stage: Stage, stages: ReadonlyMap<string, Stage>): string[] {
  const words = text.split(/\s+/);
  const options = words.filter((word) => word.startsWith("--"));
  const [to = ".", ...from] = words.filter((word) => !word.startsWith("--")).toReversed();
  const name = options.find((option) => option.startsWith("--from="))?.slice("--from=".length);
  const source = name === undefined ? "$CONTEXT/" : stages.get(name)!.folder;
  const target = to.startsWith("/")
    ? `${stage.folder}${to}`
    : `${stage.folder}${stage.workdir}/${to}`;
  return from.toReversed().map(
    (each) =>
      `for each in "${source}"${each}; do
  if [ -d "$each" ]; then mkdir -p "${target}"; cp -R "$each/." "${target}/"
  elif [ -e "$each" ]; then cp "$each" "${target}"; fi
done`,
  );
}
