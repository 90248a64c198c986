/** Where variables come from and must not collide. */
export interface Environment {
  /** Names that the template uses itself. */
  readonly taken: ReadonlySet<string>;
  /** Variables of the process: at run time they win over `.env`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** `${NAME}`, `${env:NAME}` and `${NAME:-default}` mean the same to a gateway; what else is in `${...}` only clients know. */
const PART = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{([^}]*)\}/g;

/** What clients put in without asking anybody. */
export interface Places {
  /** Folder that the file of the client is about. */
  readonly workspace: string;
  /** Defaults of the values that VS Code asks for, by their id. */
  readonly inputs: ReadonlyMap<string, string>;
}

/** The variables of the servers that are taken over: what stands literally in their files goes into `.env`. */
export class Variables {
  /** Values by name; `""` where nobody but the user knows it. */
  readonly values = new Map<string, string>();
  /** Those of {@link values} that only the user can fill in. */
  readonly blanks = new Set<string>();
  readonly #names = new Map<string, string>();
  readonly #surroundings: Environment;

  constructor(surroundings: Environment) {
    this.#surroundings = surroundings;
  }

  /** A variable for a value, e.g. `${GITHUB_TOKEN}`; its name is as close to the requested one as what is taken allows. */
  hide(wish: string, value: string): string {
    const base = variableName(wish);
    for (let count = 1; ; count += 1) {
      const name = count === 1 ? base : `${base}_${count}`;
      if (!this.#isFree(name, value)) continue;
      this.values.set(name, value);
      if (value === "") this.blanks.add(name);
      return `\${${name}}`;
    }
  }

  /** A text of a client as a gateway reads it: its variables kept or given a name, every other `$` as it is. */
  translate(text: string, server: string, places: Places): string {
    let done = 0;
    let result = "";
    for (const match of text.matchAll(PART)) {
      result += escape(text.slice(done, match.index)) + this.#variable(match, server, places);
      done = match.index + match[0].length;
    }
    return result + escape(text.slice(done));
  }

  /** What the process has for a variable that is not in `.env`; `""` when it has none. */
  real(name: string): string {
    return this.#surroundings.environment[name] ?? "";
  }

  /** Sets what a variable nobody has set yet is until somebody does. */
  suggest(text: string, value: string): void {
    for (const [, name = ""] of text.matchAll(PART))
      if (this.values.get(name) === "") this.values.set(name, value);
  }

  #variable(match: RegExpMatchArray, server: string, places: Places): string {
    const [text, name, fallback, foreign = ""] = match;
    if (name !== undefined && !isClients(name)) return this.#keep(text, name, fallback, server);
    return this.#foreign(name ?? foreign, places);
  }

  /** A variable of the template must not reach a stranger's server: it would be sent the key of this gateway. */
  #keep(text: string, name: string, fallback: string | undefined, server: string): string {
    const { taken, environment } = this.#surroundings;
    if (taken.has(name))
      return this.#once(`own:${server}:${name}`, `${server}_${name}`, fallback ?? "");
    const isSet = (environment[name] ?? "") !== "";
    if (fallback !== undefined || isSet || this.values.has(name)) return text;
    this.values.set(name, "");
    this.blanks.add(name);
    return text;
  }

  #foreign(name: string, { workspace, inputs }: Places): string {
    if (name === "userHome") return "${HOME}";
    if (name === "pathSeparator" || name === "/") return "/";
    if (name === "workspaceFolder")
      return this.#once(`folder:${workspace}`, "WORKSPACE_FOLDER", workspace);
    if (name === "workspaceFolderBasename")
      return escape(workspace.split(/[\\/]/).findLast((part) => part !== "") ?? "");
    const input = name.replace(/^[a-z]+:/i, "");
    return this.#once(`input:${name}`, input, inputs.get(input) ?? "");
  }

  /** The same variable for the same thing, however many servers use it. */
  #once(thing: string, wish: string, value: string): string {
    const known = this.#names.get(thing) ?? this.hide(wish, value);
    this.#names.set(thing, known);
    return known;
  }

  #isFree(name: string, value: string): boolean {
    const { taken, environment } = this.#surroundings;
    const own = this.values.get(name);
    if (own !== undefined) return own === value && value !== "";
    const real = environment[name];
    return !taken.has(name) && (value === "" || real === undefined || real === value);
  }
}

/** Names that look like variables of the environment, but which clients fill in. */
function isClients(name: string): boolean {
  return ["workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator"].includes(name);
}

/** `$$` is how a gateway writes a dollar sign. */
function escape(text: string): string {
  return text.replaceAll("$", "$$$$");
}

function variableName(text: string): string {
  const name = text
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, "_")
    .replaceAll(/^_+|_+$/g, "");
  if (name === "") return "VALUE";
  return /^[0-9]/.test(name) ? `_${name}` : name;
}
