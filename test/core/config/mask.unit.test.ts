import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { maskConfig } from "../../../core/kit/mask.ts";
import { maskGatewayConfig } from "../../../core/config/shown.ts";

const digest = (seed: number): Buffer => createHash("sha256").update(String(seed)).digest();
/** Keys and tokens as programs make them. */
const secret = fc
  .tuple(fc.nat(), fc.constantFrom("hex", "base64url", "uuid", "prefixed"))
  .map(([seed, kind]) => {
    const hex = digest(seed).toString("hex");
    if (kind === "hex") return hex.slice(0, 32);
    if (kind === "base64url") return digest(seed).toString("base64url").slice(0, 32);
    if (kind === "prefixed") return `sk-live_${hex.slice(0, 24)}`;
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      hex.slice(12, 16),
      hex.slice(16, 20),
      hex.slice(20, 32),
    ].join("-");
  });
/** Passwords that people make up, which only their place gives away. */
const word = fc.constantFrom("hunter", "sesame", "trustno", "letmein");

const urls = (value: string): readonly string[] => [
  `https://user:${value}@h.example/mcp`,
  `https://${value}@h.example/mcp`,
  `https://h.example/mcp?key=${value}`,
  `https://h.example/mcp?a=b&token=${value}&c=`,
  `https://h.example/mcp?${value}`,
  `https://h.example/mcp#${value}`,
  `postgres://u:${value}@db/x`,
];
const lines = (value: string): readonly (readonly string[])[] => [
  ["-k", value],
  ["-H", `X-Any: ${value}`],
  ["-H", `Authorization: Bearer ${value}`],
  [`-HX-Any: ${value}`],
  ["--header", `X-Any: ${value}`],
  [`--header=X-Any: ${value}`],
  ["--headers", value],
  ["--token", value],
  ["--api-key", value],
  ["--apikey", value],
  [`--client-secret=${value}`],
  ["-u", value],
  ["-e", `ANY=${value}`],
  ["--env", `ANY=${value}`],
  [`API_KEY=${value}`],
  [`Authorization: Bearer ${value}`],
  // Glued to short flags, as mysql has it, and as Windows does.
  [`-p${value}`],
  [`-k${value}`],
  [`-u${value}`],
  [`-u me:${value}`],
  ["mysql", "-h", "db", `-p${value}`, "app"],
  [`-p=${value}`],
  [`/p:${value}`],
  [`/password:${value}`],
  [`/password=${value}`],
  ["/p", value],
  [`--password:${value}`],
  [`-Ddb.password=${value}`],
  [`-eANY=${value}`],
  [`--env=ANY=${value}`],
  [`PASSWORD=${value}`, "cmd"],
  [`PGPASSWORD=${value}`, "cmd"],
  ["sh", "-c", `PASSWORD=${value} cmd`],
  ["sh", "-c", `MYSQL_PWD=${value} mysql -p${value} app`],
  ["-c", `curl -H 'X-Api-Key: ${value}' --token ${value} https://h.example/?k=${value}`],
];
const shown = (config: unknown): string =>
  JSON.stringify([maskConfig(config), maskGatewayConfig(config)]);

describe("masking", () => {
  it("hides by position what stands in URLs and behind flags, whatever it is", () => {
    fc.assert(
      fc.property(fc.oneof(secret, word), (value) => {
        for (const url of urls(value))
          expect(shown({ servers: { a: { url, spec: url, args: ["--at", url] } } })).not.toContain(
            value,
          );
        for (const args of lines(value))
          expect(shown({ servers: { a: { command: "x", args } } })).not.toContain(value);
        for (const publicUrl of urls(value)) expect(shown({ publicUrl })).not.toContain(value);
        expect(
          shown({ a: { env: { A: value }, headers: { B: value }, accessToken: value } }),
        ).not.toContain(value);
        expect(shown({ accessKeyId: value, secretAccessKey: value })).not.toContain(value);
      }),
    );
  });

  it("hides by its looks what has neither place nor name: path segments, arguments, texts", () => {
    fc.assert(
      fc.property(secret, (value) => {
        for (const text of [
          `https://h.example/hooks/${value}/mcp`,
          `https://h.example/${value}`,
          value,
          `before ${value} after`,
        ])
          expect(shown({ a: { url: text, args: ["run", text], nested: [text, 1] } })).not.toContain(
            value,
          );
      }),
    );
  });

  it("requirements F9: hides what is glued to a short flag, and shows the flag", () => {
    const shownAs: Readonly<Record<string, string>> = {
      "-pSHORTSECRET": "-p***",
      "-kXX": "-k***",
      "-psecret": "-p***",
      "-p=secret": "-p=***",
      "/p:secret": "/p:***",
      "--password:secret": "--password:***",
      "-uuser:pass": "-u***",
      "-HX-Any: a": "-H***",
      "PASSWORD=x y": "PASSWORD=***",
      "-eKEY=x": "-eKEY=***",
    };
    const args = Object.keys(shownAs);
    const { servers } = maskConfig({ servers: { a: { command: "x", args } } }) as {
      servers: { a: { args: string[] } };
    };
    expect(servers.a.args).toEqual(Object.values(shownAs));
  });

  it("leaves what people need to see", () => {
    const config = {
      name: "team",
      publicUrl: "https://gateway.example/0123456789abcdef0123456789abcdef",
      servers: {
        files: {
          command: "npx",
          args: [
            "-y",
            "@modelcontextprotocol/server-filesystem@2026.8.31",
            "/srv/data",
            "--port",
            "8080",
          ],
        },
        own: { command: "python3", args: ["-u", "server.py", "--verbose", "-p", "8080"] },
        go: { command: "serve", args: ["-port", "80", "-transport", "stdio", "-p8080", "-ti"] },
        data: { command: "docker", args: ["run", "-v", "/srv/data:/data", "--name=box", "-i"] },
        sh: { command: "sh", args: ["-c", "LEVEL=debug serve --root=/srv a:b"] },
        web: { url: "http://search.internal:9000/api/v1/mcp", timeout: 30_000 },
        agent: { type: "a2a", card: "https://agents.example/.well-known/agent-card.json" },
      },
      plugins: { agents: { model: "anthropic/claude-sonnet-4-20250514", depth: 2 } },
    };
    expect(maskGatewayConfig(config)).toEqual(config);
  });
});
