import type { ProjectFile } from "./file.ts";

/** Lines that are there for the file of a store, in compose.yaml and the manifest of Kubernetes. */
const FILE_LINES =
  /^.*(?:\bstore: \{\}|\bstore:\/app\b|\bname: store,|\bstrategy:|# .*store's file).*\n|^ +- name: store\n.*\n.*claimName.*\n/gm;
/** The same of documents. */
const FILE_DOCUMENT = /^---\n(?:(?!---\n).*\n)*kind: PersistentVolumeClaim\n(?:(?!---\n).*\n)*/m;

/** The `store` of gateway.yaml with its comment. */
export const STORE = /^# .*\nstore: .*\n/m;

/**
 * The files of a template with the store that is wanted: as they are for a SQLite file, with PostgreSQL in its place, or without
 * what a file needs where the template has no store.
 */
export function fitStore(
  files: readonly ProjectFile[],
  usesPostgres: boolean,
): readonly ProjectFile[] {
  const config = files.find(({ path }) => path === "gateway.yaml")?.content.toString("utf8") ?? "";
  if (STORE.test(config) && !usesPostgres) return files;
  return files.map((file) => {
    const text = withoutFile(file.path, file.content.toString("utf8"));
    const wanted = usesPostgres ? (POSTGRES[file.path]?.(text) ?? text) : text;
    const isTested = file.path === "package.json" && usesPostgres && files.some(isTestWithFile);
    return { ...file, content: Buffer.from(isTested ? addDevelopment(wanted, LIBSQL) : wanted) };
  });
}

/** A test that has a file of its own for a store, whatever the gateway has. */
function isTestWithFile({ path, content }: ProjectFile): boolean {
  return path.startsWith("test/") && content.includes("sqlite:");
}

function withoutFile(path: string, text: string): string {
  if (path !== "compose.yaml" && path !== "deploy/kubernetes.yaml") return text;
  return text.replace(FILE_DOCUMENT, "").replaceAll(FILE_LINES, "");
}

/** What PostgreSQL changes, by file. */
const POSTGRES: Readonly<Record<string, (text: string) => string>> = {
  "gateway.yaml": (text) =>
    STORE.test(text)
      ? text.replace(STORE, () => CONFIG)
      : text.replace(/^management: .*\n/m, (line) => `${line}\n${CONFIG}`),
  ".env.example": (text) => text.replace(/^# .*\n# STORE=.*\n/m, "") + VARIABLES,
  "package.json": fitManifest,
  "compose.yaml": fitCompose,
  "deploy/kubernetes.yaml": (text) =>
    text
      .replace(/^# kubectl create secret.*\n/m, (line) => `${SECRET}${line}`)
      .replace(/(configMapRef:\n +name: .*\n)( +env:\n)?/, (_, before: string) => before + POD),
  "README.md": (text) =>
    text
      .replace(/\n## What survives\n[\s\S]*$/, "")
      .replace(/^\| `(?:STORE|\.store\/)`.*\n/gm, "") + README,
};

const LIBSQL = { libsql: "^0.5.29" };

/** The variable in the default makes the password the only secret, and tells a build which store it is. */
const CONFIG = `# State that must survive the process is in PostgreSQL; STORE names another database than that of compose.yaml.
store: "\${STORE:-postgres://gateway:\${POSTGRES_PASSWORD}@127.0.0.1:5432/gateway}"
`;

const VARIABLES = `# The password of the database in compose.yaml. create-gateway writes one into .env.
POSTGRES_PASSWORD=change-me
# Another database; Kubernetes needs one:
# STORE=postgres://user:password@host:5432/database
`;

const SECRET = "# STORE in .env names the database as the pod reaches it.\n";

const POD = `          env:
            # Without it the pod does not start: the default is a database beside the gateway.
            - name: STORE
              valueFrom:
                secretKeyRef:
                  name: my-gateway
                  key: STORE
`;

const README = `
## The database

State that must survive the process is in PostgreSQL, so start that first: \`docker compose up --detach --wait postgres\` starts the one of \`compose.yaml\`, with the password of \`.env\`. \`STORE\` names another, e.g. for Kubernetes: \`postgres://user:password@host:5432/database\`. Back it up while the gateway runs:

\`\`\`sh
docker compose exec -T postgres pg_dump -U gateway gateway > backup.sql
\`\`\`
`;

/** A build has the client in its one file; what SQLite needs it does without. */
function fitManifest(text: string): string {
  const manifest = JSON.parse(text) as Record<"dependencies" | "devDependencies", object>;
  const { libsql: _, ...dependencies } = manifest.dependencies as Record<string, string>;
  return addDevelopment(JSON.stringify({ ...manifest, dependencies }), { pg: "^8.23.1" });
}

/** A manifest with more packages for development, in the order of their names. */
export function addDevelopment(text: string, packages: Readonly<Record<string, string>>): string {
  const manifest = JSON.parse(text) as Record<"devDependencies", object>;
  const development = Object.entries({ ...manifest.devDependencies, ...packages });
  const devDependencies = Object.fromEntries(
    development.toSorted(([left], [right]) => (left < right ? -1 : 1)),
  );
  return `${JSON.stringify({ ...manifest, devDependencies }, undefined, 2)}\n`;
}

function fitCompose(text: string): string {
  const waits = "      postgres: { condition: service_healthy }\n";
  const url = "postgres://gateway:${POSTGRES_PASSWORD}@postgres:5432/gateway";
  const waiting = text.includes("    depends_on:\n")
    ? text.replace("    depends_on:\n", (line) => line + waits)
    : text.replace("    ports:\n", (line) => `    depends_on:\n${waits}${line}`);
  return waiting
    .replace("    environment:\n", (line) => `${line}      STORE: "${url}"\n`)
    .replace(/\nvolumes:\n/, (line) => `${SERVICE}${line}  postgres: {}\n`);
}

const SERVICE = `
  postgres:
    image: postgres:17-alpine
    environment:
      POSTGRES_USER: gateway
      # That of .env when the volume is new; from then on the database has it.
      POSTGRES_PASSWORD: "\${POSTGRES_PASSWORD}"
    ports:
      # For a gateway outside of Compose, on this machine only.
      - "127.0.0.1:5432:5432"
    volumes:
      - postgres:/var/lib/postgresql/data
    healthcheck:
      # Over TCP: while it fills a new volume it answers on its socket already.
      test: [CMD, pg_isready, -h, 127.0.0.1, -U, gateway]
      interval: 2s
      start_period: 30s
    restart: unless-stopped
`;
