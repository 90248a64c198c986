import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { TEMPLATES } from "../../templates/src/template.ts";
import { requirePresent } from "../fixtures/programs.ts";
import { makeFolder } from "../kit/folder.ts";
import { create, listFiles, openCreator } from "./creator.ts";

const creator = openCreator();

/** The queue of a2a-runtime shares the work of its gateways. */
const CLUSTERS = TEMPLATES.map(({ name }) => name).filter(
  (name) => name !== "plugin" && name !== "a2a-runtime",
);
/** A program that neither npm nor apt has: `go install helm.sh/helm/v3/cmd/helm@latest` makes one. */
const HELM = process.env["HELM"] ?? "";

/** A document as YAML and JSON have it. */
type Tree = Readonly<Record<string, unknown>>;

/** What stands at a path, e.g. `spec.template`. */
function at(tree: unknown, path: string): unknown {
  return path.split(".").reduce((node, key) => (node as Tree | undefined)?.[key], tree);
}

/** The files of a project for a cluster. */
async function look(template: string) {
  const folder = makeFolder();
  const made = await create(creator, folder, ["gw", "-t", template, "--with", "cluster", "--yes"]);
  expect([made.code, made.stderr]).toEqual([0, ""]);
  const directory = join(folder, "gw");
  const text = (name: string): string => readFileSync(join(directory, name), "utf8");
  return {
    directory,
    text,
    files: listFiles(directory),
    compose: parse(text("compose.yaml")) as Tree,
  };
}

/** Manifests by their kind. */
function manifests(...texts: readonly string[]): Readonly<Record<string, Tree>> {
  const all = texts.flatMap((text) =>
    parseAllDocuments(text).map((document) => document.toJS() as Tree | null),
  );
  return Object.fromEntries(all.flatMap((each) => (each ? [[each["kind"], each]] : [])));
}

describe("--with cluster", () => {
  it.each(CLUSTERS)("%s: has a config that several gateways can have", async (template) => {
    const { text, files } = await look(template);
    const config = parse(text("gateway.yaml")) as Tree;
    const own = "postgres://gateway:${POSTGRES_PASSWORD}@127.0.0.1:5432/gateway";
    expect(config["store"]).toBe(`\${STORE:-${own}}`);
    expect(config["auth"]).toEqual({
      apiKey: "${GATEWAY_KEY}",
      trustedProxies: ["${PROXIES:-127.0.0.1}"],
    });
    // Compose and Kubernetes wait 40 s: notice, grace and what closing takes.
    const { notice, grace = "30s" } = config["timeouts"] as Record<string, string>;
    expect([notice, grace]).toEqual(["5s", "30s"]);
    expect(text("compose.yaml")).toContain("stop_grace_period: 40s");
    expect(text("deploy/kubernetes.yaml")).toContain("terminationGracePeriodSeconds: 40");
    expect(at(config, "listeners.scrape.port")).toBe("${SCRAPE_PORT:-9090}");
    expect(at(config, "plugins.metrics")).toEqual({ listener: "scrape", public: true });
    expect(at(config, "plugins.nats")).toEqual({});
    expect(at(config, "plugins.gating.state")).toBeUndefined();
    expect(Object.keys(at(JSON.parse(text("package.json")), "devDependencies") as Tree)).toEqual(
      expect.arrayContaining(["@nats-io/jetstream", "@nats-io/transport-node", "pg"]),
    );
    expect(files.filter((file) => /^(?:deploy|compose|Dockerfile)/.test(file))).toEqual([
      "Dockerfile",
      "compose.yaml",
      "deploy/autoscaling.yaml",
      "deploy/chart/Chart.yaml",
      "deploy/chart/templates/autoscaling.tpl",
      "deploy/chart/templates/config.tpl",
      "deploy/chart/templates/deployment.tpl",
      "deploy/chart/templates/disruption.tpl",
      "deploy/chart/templates/service.tpl",
      "deploy/chart/values.yaml",
      "deploy/haproxy.cfg",
      "deploy/kubernetes.yaml",
      "deploy/nats.conf",
    ]);
    expect(text(".env")).toMatch(/^POSTGRES_PASSWORD=[0-9a-f]{48}$/m);
    expect(text(".env")).toMatch(/^COMPOSE_PROFILES=postgres$/m);
    expect(text("README.md")).toContain("\n## The cluster\n");
    const shipped = files.filter((file) => !file.startsWith("test/")).map(text);
    expect(shipped.join("\n")).not.toMatch(/sqlite|the store's file|switches\.json/i);
  });

  it("Compose has three gateways alike, one store of two, and a balancer that knows them", async () => {
    const { text, compose } = await look("minimal");
    const { balancer, postgres, nats, ...gateways } = compose["services"] as Record<string, Tree>;
    expect(Object.keys(gateways)).toEqual(["gateway-1", "gateway-2", "gateway-3"]);
    for (const gateway of Object.values(gateways)) expect(gateway).toEqual(gateways["gateway-1"]);
    const { environment, depends_on: first } = gateways["gateway-1"] as Record<string, Tree>;
    expect(environment).toEqual({
      GATEWAY_HOST: "0.0.0.0",
      PORT: "8080",
      STORE: "${CLUSTER_STORE:-postgres://gateway:${POSTGRES_PASSWORD}@postgres:5432/gateway}",
      PROXIES: at(compose, "networks.default.ipam.config.0.subnet"),
    });
    const whenChosen = { condition: "service_healthy", required: false };
    expect(first).toEqual({ postgres: whenChosen, nats: whenChosen });
    expect([postgres!["profiles"], nats!["profiles"]]).toEqual([["postgres"], ["nats"]]);
    expect(text("deploy/nats.conf")).toBe(
      readFileSync(join(creator.folder, "a2a-runtime/deploy/nats.conf"), "utf8"),
    );
    // All that the config asks of its environment, and no more.
    const asked = new Set(text("deploy/haproxy.cfg").match(/(?<=\$\{)\w+/g));
    const given = balancer!["environment"] as Tree;
    expect([...asked].toSorted()).toEqual(Object.keys(given).toSorted());
    const named = ["GATEWAY_1", "GATEWAY_2", "GATEWAY_3"].map((name) => given[name]);
    expect(named).toEqual(Object.keys(gateways));
    expect(balancer!["ports"]).toEqual(["127.0.0.1:8080:8080"]);
  });

  it("Kubernetes has three pods, updated one by one, a budget, and autoscaling on calls that run", async () => {
    const { text } = await look("minimal");
    const found = manifests(text("deploy/kubernetes.yaml"), text("deploy/autoscaling.yaml"));
    const labels = { app: "gw" };
    expect(at(found["Deployment"], "spec")).toMatchObject({
      replicas: 3,
      strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      selector: { matchLabels: labels },
      template: { metadata: { labels } },
    });
    expect(at(found["PodDisruptionBudget"], "spec")).toEqual({
      maxUnavailable: 1,
      selector: { matchLabels: labels },
    });
    expect(at(found["HorizontalPodAutoscaler"], "spec.scaleTargetRef.name")).toBe(
      at(found["Deployment"], "metadata.name"),
    );
    expect(at(found["HorizontalPodAutoscaler"], "spec.metrics.0.pods.metric.name")).toBe(
      "tool_calls_in_flight",
    );
    expect(found["PersistentVolumeClaim"]).toBeUndefined();
  });

  it("the chart makes the same manifests, and nothing that Helm finds wrong", async () => {
    requirePresent("helm (its path in HELM)", existsSync(HELM), undefined, false);
    const { directory, text } = await look("minimal");
    const helm = (...words: string[]): string =>
      execFileSync(HELM, words, { cwd: directory, encoding: "utf8" });
    expect(helm("lint", "--strict", "deploy/chart")).toContain("0 chart(s) failed");
    const plain = manifests(text("deploy/kubernetes.yaml"));
    expect(manifests(helm("template", "gw", "deploy/chart"))).toEqual(plain);
    const scaled = manifests(
      helm("template", "gw", "deploy/chart", "--set", "autoscaling.enabled=true,data.claim=files"),
    );
    const asked = manifests(text("deploy/autoscaling.yaml"));
    expect(scaled["HorizontalPodAutoscaler"]).toEqual(asked["HorizontalPodAutoscaler"]);
    expect(at(scaled["Deployment"], "spec.replicas")).toBeUndefined();
    expect(at(scaled["Deployment"], "spec.template.spec.volumes.0")).toEqual({
      name: "data",
      persistentVolumeClaim: { claimName: "files" },
    });
  });

  it.each([
    [["-t", "a2a-runtime"], /^--with cluster is not for a2a-runtime: its queue shares the work/],
    [["-t", "minimal", "--start"], /^--start cannot start the database of --with cluster/],
  ])("%j is refused", async (words, said) => {
    const all = ["gw", "--yes", "--with", "cluster", ...words];
    const { code, stderr } = await create(creator, makeFolder(), all);
    expect(code).toBe(1);
    expect(stderr).toMatch(said);
  });
});
