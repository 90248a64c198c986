import type { ProjectFile } from "./file.ts";
import { STORE } from "./store.ts";

/** The file of switches, which belongs to one process: without it the store has them. */
const STATE = / state: "[^"]*"(?:,| (?=\}))/;

/** A config whose switches several processes share. */
export function withoutState(config: string): string {
  return config.replace(STATE, "").replace(/^ {2}gating: \{\s*\}$/m, "  gating: {}");
}

/** The files of a template whose gateway uses every core: its processes share a store, which is a file where something is kept. */
export function fitWorkers(files: readonly ProjectFile[]): readonly ProjectFile[] {
  const config = files.find(({ path }) => path === "gateway.yaml")?.content.toString("utf8") ?? "";
  const needsStore = STATE.test(config) && !STORE.test(config);
  const changes = needsStore ? { ...CHANGES, ...WITH_STORE } : CHANGES;
  return files.map((file) => {
    const change = changes[file.path];
    return change ? { ...file, content: Buffer.from(change(file.content.toString("utf8"))) } : file;
  });
}

type Changes = Readonly<Record<string, (text: string) => string>>;

const CHANGES: Changes = {
  "gateway.yaml": (text) => addBelow(withoutState(text), WORKERS),
  "deploy/kubernetes.yaml": (text) => text.replace(/^ {2}PUBLIC_URL: .*\n/m, (line) => line + POD),
  "README.md": (text) => text.replace("`data/switches.json`", "the store") + README,
};

/** Where switches were in a file and there is no store yet. */
const WITH_STORE: Changes = {
  "gateway.yaml": (text) => addBelow(withoutState(text), `${WORKERS}\n${FILE}`),
  ".env.example": (text) => text + VARIABLE,
  "package.json": addLibsql,
};

/** Below the rights to change things, which every config has. */
function addBelow(config: string, lines: string): string {
  return config.replace(/^management: .*\n/m, (line) => `${line}\n${lines}`);
}

function addLibsql(text: string): string {
  const manifest = JSON.parse(text) as { readonly dependencies: Readonly<Record<string, string>> };
  const dependencies = Object.fromEntries(
    Object.entries({ ...manifest.dependencies, libsql: "^0.5.29" }).toSorted(([left], [right]) =>
      left < right ? -1 : 1,
    ),
  );
  return `${JSON.stringify({ ...manifest, dependencies }, undefined, 2)}\n`;
}

const WORKERS = `# So many processes serve together as one gateway; auto is one per core.
workers: "\${WORKERS:-auto}"
`;

const FILE = `# What is switched off, and other things that the processes share, outlive them here.
store: "\${STORE:-sqlite:./.store/gateway.db}"
`;

const VARIABLE = `# Another file for what the gateway keeps:
# STORE=sqlite:./.store/gateway.db
`;

const POD = `  # As many as the pod has cores; each takes about 100 MB of its memory, and so does the process that starts them.
  WORKERS: "2"
`;

const README = `
## Every core

\`npm start\` and the image run one process per core as one gateway: one port, one log, one \`/metrics\`, sessions at any of them. A process that dies is started again. \`WORKERS\` sets another number; a test runs in one process.
`;
