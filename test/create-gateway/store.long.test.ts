import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { TEMPLATES } from "../../templates/src/template.ts";
import { makeFolder } from "../kit/folder.ts";
import { create, listFiles, openCreator, ROOT } from "./creator.ts";

const creator = openCreator();

const GATEWAYS = TEMPLATES.map(({ name }) => name).filter((name) => name !== "plugin");
/** Templates that keep their state in a file. */
const KEEPERS = ["a2a-runtime", "lifecycle", "team-console"];
/** Those of them with agents, who read a folder. */
const WITH_FOLDER = new Set(["a2a-runtime", "lifecycle"]);
/** A console has tables in its tests, too: in a file of their own, whatever the gateway has. */
const TESTS_WITH_FILE = new Set(["team-console"]);

/** A document as YAML and JSON have it. */
type Tree = Readonly<Record<string, unknown>>;

/** What stands at a path, e.g. `spec.template`. */
function at(tree: unknown, path: string): unknown {
  return path.split(".").reduce((node, key) => (node as Tree | undefined)?.[key], tree);
}

/** What a project says of its store. */
async function look(template: string, words: readonly string[]) {
  const folder = makeFolder();
  const { stdout } = await create(creator, folder, ["gw", "-t", template, "--json", ...words]);
  const text = (name: string): string => readFileSync(join(folder, "gw", name), "utf8");
  const { services, volumes } = parse(text("compose.yaml")) as Record<string, Tree>;
  const manifest: Tree[] = existsSync(join(folder, "gw/deploy/kubernetes.yaml"))
    ? parseAllDocuments(text("deploy/kubernetes.yaml")).map((each) => each.toJS() as Tree)
    : [];
  const files = listFiles(join(folder, "gw"));
  return {
    folder: join(folder, "gw"),
    files,
    text,
    next: (JSON.parse(stdout) as { next: string[] }).next,
    config: parse(text("gateway.yaml")) as Tree,
    manifest: JSON.parse(text("package.json")) as Tree,
    services: services!,
    gateway: Object.values(services!)[0] as Tree,
    volumes: Object.keys(volumes!),
    claims: manifest.filter(({ kind }) => kind === "PersistentVolumeClaim"),
    deployment: manifest.find(({ kind }) => kind === "Deployment")!,
    all: files.map(text).join("\n"),
  };
}

/** The container of a deployment that runs the gateway. */
function containerOf(deployment: Tree): Tree {
  const { initContainers, containers } = at(deployment, "spec.template.spec") as Tree;
  return ((initContainers ?? containers) as Tree[])[0]!;
}

describe("a store in a file", () => {
  it.each(KEEPERS)("%s: has one outside of what agents read, git and image", async (template) => {
    const { config, text, files, manifest } = await look(template, []);
    expect(config["store"]).toBe("${STORE:-sqlite:./.store/gateway.db}");
    const folder = WITH_FOLDER.has(template) ? /^\$\{\w+:-\.\/data\}$/ : /^none$/;
    expect(at(config, "servers.files.args.2") ?? "none").toMatch(folder);
    expect(text(".gitignore")).toContain("\n.store/\n");
    expect(text(".dockerignore")).toContain("\n.store\n");
    expect(text("Dockerfile")).toMatch(/mkdir -p .*\.store.* && chown node:node .*\.store/);
    expect(text(".env.example")).toContain("\n# STORE=sqlite:");
    expect(text(".env")).not.toMatch(/^STORE=/m);
    expect(at(manifest, "dependencies.libsql")).toBe(packages["libsql"]);
    expect(files).toContain("README.md");
    expect(text("README.md")).toContain("\n## What survives\n");
  });

  it.each(KEEPERS)("%s: has volumes for it, and one process at a time", async (template) => {
    const { gateway, volumes, claims, deployment } = await look(template, []);
    expect(gateway["volumes"]).toContain("store:/app/.store");
    expect(volumes).toContain("store");
    expect(claims).toHaveLength(1);
    expect(deployment["spec"]).toMatchObject({ replicas: 1, strategy: { type: "Recreate" } });
    expect(deployment).not.toHaveProperty("spec.template.spec.containers.0.lifecycle");
    expect(containerOf(deployment)["volumeMounts"]).toContainEqual({
      name: "store",
      mountPath: "/app/.store",
    });
    const claimName = at(claims[0], "metadata.name");
    expect(at(deployment, "spec.template.spec.volumes")).toContainEqual({
      name: "store",
      persistentVolumeClaim: { claimName },
    });
  });

  it.each(GATEWAYS.filter((name) => !KEEPERS.includes(name)))(
    "%s: has none, and nothing for it",
    async (template) => {
      const { config, volumes, claims, deployment, manifest, all } = await look(template, []);
      expect(config["store"]).toBeUndefined();
      expect([volumes, claims]).toEqual([["data"], []]);
      expect(at(deployment, "spec.strategy")).toBeUndefined();
      expect(at(manifest, "dependencies.libsql")).toBeUndefined();
      expect(all).not.toMatch(/sqlite|postgres/i);
    },
  );
});

const { devDependencies: packages } = JSON.parse(
  readFileSync(join(ROOT, "package.json"), "utf8"),
) as { devDependencies: Readonly<Record<string, string>> };

describe("--with workers", () => {
  const words = ["--with", "compose,kubernetes,workers"];
  /** Without postgres. */
  const POSSIBLE = GATEWAYS.filter((name) => name !== "a2a-runtime" && name !== "team-console");

  it.each(POSSIBLE)("%s: has a config that several processes can have", async (template) => {
    const { config, text, manifest, deployment } = await look(template, words);
    expect(config["workers"]).toBe("${WORKERS:-auto}");
    expect(at(config, "plugins.gating.state")).toBeUndefined();
    const keeps = template !== "minimal";
    expect(config["store"]).toBe(keeps ? "${STORE:-sqlite:./.store/gateway.db}" : undefined);
    expect(at(manifest, "dependencies.libsql")).toBe(keeps ? packages["libsql"] : undefined);
    expect(text("gateway.yaml")).not.toContain("switches.json");
    expect(text("README.md")).toContain("\n## Every core\n");
    const [settings] = parseAllDocuments(text("deploy/kubernetes.yaml"));
    expect(at(settings!.toJS(), "data.WORKERS")).toBe("2");
    const mounts = JSON.stringify(containerOf(deployment)["volumeMounts"]);
    expect(mounts.includes("/app/.store")).toBe(keeps);
  });

  it("with postgres too, which plugins with tables need", async () => {
    const { config, manifest } = await look("team-console", ["--with", "postgres,workers"]);
    expect(config["workers"]).toBe("${WORKERS:-auto}");
    expect(config["store"]).toContain("postgres://");
    expect(at(manifest, "dependencies.libsql")).toBeUndefined();
  });
});

describe("--with postgres", () => {
  const words = ["--with", "kubernetes,postgres"];

  it.each(GATEWAYS)("%s: names the database and has its password in .env", async (template) => {
    const { config, text, files, manifest } = await look(template, words);
    const isOwn = (file: string): boolean => file.startsWith("test/");
    const hasFile = TESTS_WITH_FILE.has(template);
    const all = files.filter((file) => !(hasFile && isOwn(file))).map(text);
    const inside = "postgres://gateway:${POSTGRES_PASSWORD}@127.0.0.1:5432/gateway";
    expect(config["store"]).toBe(`\${STORE:-${inside}}`);
    expect(text(".env.example")).toContain("\nPOSTGRES_PASSWORD=change-me\n");
    expect(text(".env")).toMatch(/^POSTGRES_PASSWORD=[0-9a-f]{48}$/m);
    const [key, password] = [...text(".env").matchAll(/=([0-9a-f]{48})$/gm)].map(
      ([, value]) => value,
    );
    expect(key).not.toBe(password);
    expect(at(manifest, "devDependencies.pg")).toBe(packages["pg"]);
    expect(at(manifest, "dependencies.libsql")).toBeUndefined();
    expect(text("README.md")).toContain("\n## The database\n");
    expect(at(manifest, "devDependencies.libsql")).toBe(hasFile ? packages["libsql"] : undefined);
    expect(all.join("\n")).not.toMatch(/sqlite|the store's file|gateway\.db/i);
  });

  it.each(GATEWAYS)("%s: Compose starts it first, for this machine only", async (template) => {
    const { services, gateway, volumes } = await look(template, words);
    const url = "postgres://gateway:${POSTGRES_PASSWORD}@postgres:5432/gateway";
    expect(gateway["environment"]).toMatchObject({ STORE: url, GATEWAY_HOST: "0.0.0.0" });
    expect(gateway["depends_on"]).toMatchObject({ postgres: { condition: "service_healthy" } });
    expect(services["postgres"]).toMatchObject({
      image: "postgres:17-alpine",
      environment: { POSTGRES_USER: "gateway", POSTGRES_PASSWORD: "${POSTGRES_PASSWORD}" },
      ports: ["127.0.0.1:5432:5432"],
      volumes: ["postgres:/var/lib/postgresql/data"],
      healthcheck: { test: ["CMD", "pg_isready", "-h", "127.0.0.1", "-U", "gateway"] },
    });
    expect(volumes).toContain("postgres");
    expect(volumes).not.toContain("store");
  });

  it.each(GATEWAYS)("%s: Kubernetes takes it from the Secret", async (template) => {
    const { claims, deployment } = await look(template, words);
    expect(claims).toEqual([]);
    expect(at(deployment, "spec.strategy")).toBeUndefined();
    const { env, volumeMounts } = containerOf(deployment);
    const secretKeyRef = { name: "gw", key: "STORE" };
    expect(env).toContainEqual({ name: "STORE", valueFrom: { secretKeyRef } });
    expect((env as Tree[]).some(({ name }) => name === "QUEUE_WORK")).toBe(
      template === "a2a-runtime",
    );
    expect(JSON.stringify(volumeMounts)).not.toContain("store");
  });

  it("alone brings Compose and the image, and is started before the gateway", async () => {
    const { files, next } = await look("minimal", ["--with", "postgres"]);
    expect(files).toEqual(expect.arrayContaining([".dockerignore", "Dockerfile", "compose.yaml"]));
    expect(files.filter((path) => path.startsWith("deploy/"))).toEqual([]);
    expect(next).toEqual([
      "cd gw",
      "npm install",
      "docker compose up --detach --wait postgres",
      "npm start",
    ]);
  });

  it("keeps the password of a project that is written again", async () => {
    const { folder } = await look("minimal", words);
    writeFileSync(join(folder, ".env"), "POSTGRES_PASSWORD=of-the-volume\n");
    const again = [".", "--yes", "--name", "gw", "--overwrite", ...words];
    expect(await create(creator, folder, again)).toMatchObject({ code: 0 });
    const after = readFileSync(join(folder, ".env"), "utf8");
    expect(after.match(/^POSTGRES_PASSWORD=.*$/gm)).toEqual(["POSTGRES_PASSWORD=of-the-volume"]);
  });

  it("leaves its variables to no server that is taken over", async () => {
    const folder = makeFolder();
    const env = { URL: "${POSTGRES_PASSWORD}", STORE: "${STORE}" };
    const mcpServers = { one: { command: "one", env } };
    writeFileSync(join(folder, "mcp.json"), JSON.stringify({ mcpServers }));
    await create(creator, folder, ["gw", "--yes", "--import", "mcp.json", ...words]);
    const config = parse(readFileSync(join(folder, "gw/gateway.yaml"), "utf8")) as Tree;
    expect(at(config, "mcpServers.one.env")).toEqual({
      URL: "${ONE_POSTGRES_PASSWORD}",
      STORE: "${ONE_STORE}",
    });
  });
});
