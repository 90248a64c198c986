import { parseArgs } from "node:util";
import { Failure } from "./failure.ts";
import { MANAGERS } from "./finish.ts";
import { EXTRAS, findTemplate, TEMPLATES, type Extra } from "./template.ts";

/** What the command line says; what it does not say is asked, or has a default. */
export interface Flags {
  readonly directory: string | undefined;
  /** Of the project; default: the name of the directory. */
  readonly name: string | undefined;
  readonly template: string | undefined;
  /** Files with `mcpServers` to take over. */
  readonly import: readonly string[];
  readonly with: readonly Extra[] | undefined;
  readonly production: boolean;
  readonly install: boolean | undefined;
  readonly git: boolean | undefined;
  readonly start: boolean | undefined;
  readonly manager: string | undefined;
  /** What to install as propylon: a tarball or what npm understands; default: the version this was released with. */
  readonly propylon: string | undefined;
  readonly overwrite: boolean;
  readonly dryRun: boolean;
  readonly json: boolean;
  readonly yes: boolean;
  readonly help: boolean;
  readonly version: boolean;
}

const OPTIONS = {
  name: { type: "string" },
  template: { type: "string", short: "t" },
  import: { type: "string", multiple: true },
  with: { type: "string" },
  production: { type: "boolean" },
  install: { type: "boolean" },
  git: { type: "boolean" },
  start: { type: "boolean" },
  pm: { type: "string" },
  propylon: { type: "string" },
  overwrite: { type: "boolean" },
  "dry-run": { type: "boolean" },
  json: { type: "boolean" },
  yes: { type: "boolean", short: "y" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
} as const;

/**
 * Reads the command line.
 *
 * @throws {Failure} for anything unknown or wrong
 */
export function readFlags(words: readonly string[]): Flags {
  const { values, positionals } = parse(words);
  if (positionals.length > 1)
    throw new Failure(`Give one directory; there are ${positionals.length}. See --help.`);
  if (positionals[0] === "") throw new Failure("The directory has no name. See --help.");
  if (values.template !== undefined && !findTemplate(values.template))
    throw new Failure(
      `There is no template "${values.template}". There are: ${TEMPLATES.map(({ name }) => name).join(", ")}.`,
    );
  if (values.pm !== undefined && !(MANAGERS as readonly string[]).includes(values.pm))
    throw new Failure(`--pm must be one of ${MANAGERS.join(", ")}.`);
  return {
    directory: positionals[0],
    name: values.name,
    template: values.template,
    import: values.import ?? [],
    with: values.with === undefined ? undefined : readExtras(values.with),
    production: values.production ?? false,
    install: values.install,
    git: values.git,
    start: values.start,
    manager: values.pm,
    propylon: values.propylon,
    overwrite: values.overwrite ?? false,
    dryRun: values["dry-run"] ?? false,
    json: values.json ?? false,
    yes: values.yes ?? false,
    help: values.help ?? false,
    version: values.version ?? false,
  };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: OPTIONS,
      allowPositionals: true,
      allowNegative: true,
    });
  } catch (error) {
    const { message } = error as Error;
    throw new Failure(`${message.replace(/\.(?: .*)?$/s, "")}. See --help.`);
  }
}

function readExtras(text: string): readonly Extra[] {
  const words = text.split(",").filter((word) => word !== "" && word !== "none");
  const wrong = words.find((word) => !(EXTRAS as readonly string[]).includes(word));
  if (wrong !== undefined)
    throw new Failure(`--with knows ${EXTRAS.join(", ")} and none, but not "${wrong}".`);
  return words as Extra[];
}

/** What --help prints. */
export const HELP = `create-gateway [directory] [options]

Creates a gateway: config, a plugin, a test, and the files to deploy it.

  -t, --template <name>   ${TEMPLATES.map(({ name }) => name).join(", ")}
      --name <name>       name of the project (default: that of the directory)
      --import <file>     import the mcpServers of a file (repeatable)
      --with <list>       docker,compose,kubernetes (default: these; none: none), postgres, workers, cluster;
                          compose and kubernetes include docker, postgres includes compose,
                          workers is one process per core,
                          cluster (three gateways behind a balancer) includes all but workers
      --production        a config that cannot be changed over HTTP
      --[no-]install      install the dependencies
      --[no-]git          make a git repository
      --[no-]start        start it at the end
      --pm <name>         npm, pnpm, yarn, bun (default: the one that runs this)
      --propylon <spec>   what to install as propylon: a version, or a tarball, which is copied
      --overwrite         write into a directory that is not empty; files of the same name are
                          replaced, but values in .env are kept
      --dry-run           print what would be written
      --json              print the result as JSON
  -y, --yes               ask nothing
  -h, --help              show this help
  -v, --version           show the version

Without a terminal, and where CI is set, nothing is prompted.
To create in one go: create-gateway my-gateway --yes --template minimal
Behind npm, options come after two hyphens: npm create gateway@latest my-gateway -- --yes
`;
