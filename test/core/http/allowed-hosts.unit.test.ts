import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Hosts } from "../../../core/http/allowed-hosts.ts";
import { listenerUrl } from "../../../core/kit/addresses.ts";
import { isLoopback } from "../../../core/kit.ts";
import { rounds } from "../../fixtures/ci.ts";

const NONE = { allowedHosts: [], allowedOrigins: [] };
const LOCAL = { address: "127.0.0.1", port: 8080, tls: false, publicUrl: undefined };

describe("Hosts", () => {
  it.each(["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "LOCALHOST:8080"])(
    "a loopback listener is called %s",
    (host) => {
      expect(new Hosts(LOCAL, NONE).allowsHost(host, "127.0.0.1")).toBe(true);
    },
  );

  it.each([
    "evil.example",
    "evil.example:8080",
    "localhost",
    "localhost:81",
    "localhost:8080.evil.example",
    "localhost:8080@evil.example",
    "evil.example/localhost:8080",
    "127.0.0.1.nip.io:8080",
    "127.0.0.2:8080",
    "0.0.0.0:8080",
    "localhost.:8080",
    "localhost:08080",
    "127.1:8080",
    "2130706433:8080",
    "[::ffff:127.0.0.1]:8080",
    "localhost:8080, evil.example",
    "*",
    " ",
  ])("T6: a loopback listener is not called %s", (host) => {
    expect(new Hosts(LOCAL, NONE).allowsHost(host, "127.0.0.1")).toBe(false);
  });

  it("leaves the port out where it is the scheme's default", () => {
    expect(new Hosts({ ...LOCAL, port: 80 }, NONE).allowsHost("localhost", undefined)).toBe(true);
    expect(
      new Hosts({ ...LOCAL, port: 443, tls: true }, NONE).allowsHost("localhost", undefined),
    ).toBe(true);
    expect(new Hosts({ ...LOCAL, port: 443 }, NONE).allowsHost("localhost", undefined)).toBe(false);
  });

  it("takes publicUrl and allowedHosts, with or without a port", () => {
    const config = { allowedHosts: ["Gateway.internal", "edge.example:8443"], allowedOrigins: [] };
    const hosts = new Hosts({ ...LOCAL, publicUrl: "https://mcp.example.org/base" }, config);
    const ours = [
      "mcp.example.org",
      "mcp.example.org:443",
      "gateway.internal",
      "gateway.internal:9999",
      "edge.example:8443",
    ];
    const foreign = ["mcp.example.org:80", "edge.example", "edge.example:1", "x.gateway.internal"];
    const allowed = [...ours, ...foreign].filter((host) => hosts.allowsHost(host, "127.0.0.1"));
    expect(allowed).toEqual(ours);
  });

  it("bound to every interface, answers to the address a connection came in on, and to no other", () => {
    const hosts = new Hosts({ ...LOCAL, address: "::" }, NONE);
    expect(hosts.allowsHost("192.168.7.9:8080", "::ffff:192.168.7.9")).toBe(true);
    expect(hosts.allowsHost("[fe80::1]:8080", "fe80::1%eth0")).toBe(true);
    expect(hosts.allowsHost("localhost:8080", "::1")).toBe(true);
    expect(hosts.allowsHost("192.168.7.8:8080", "::ffff:192.168.7.9")).toBe(false);
    expect(hosts.allowsHost("evil.example:8080", "::ffff:192.168.7.9")).toBe(false);
  });

  it("takes * only when it is written", () => {
    const any = new Hosts(LOCAL, { allowedHosts: ["*"], allowedOrigins: ["*"] });
    expect(any.allowsHost("evil.example", undefined)).toBe(true);
    expect(any.allowsOrigin("http://evil.example", "localhost:8080")).toBe(true);
  });

  it("allows the origins of its own hosts, of allowedOrigins and the same origin, nothing else", () => {
    const config = {
      allowedHosts: ["gw.lan"],
      allowedOrigins: ["https://app.example:443/", "vscode-webview://abc", "http://localhost:6274"],
    };
    const hosts = new Hosts({ ...LOCAL, publicUrl: "https://mcp.example.org" }, config);
    const mine = [
      "http://localhost:8080",
      "http://127.0.0.1:8080",
      "https://mcp.example.org",
      "https://app.example",
      "vscode-webview://abc",
      "http://localhost:6274",
      "http://gw.lan",
    ];
    expect(hosts.allowsOrigin("http://gw.lan:1234", "gw.lan:1234")).toBe(true);
    const foreign = [
      "null",
      "http://evil.example",
      "http://localhost:3000",
      "https://localhost:8080.evil.example",
      "http://app.example",
      "file://",
      "",
    ];
    const allowed = [...mine, ...foreign].filter((origin) =>
      hosts.allowsOrigin(origin, "127.0.0.1:8080"),
    );
    expect(allowed).toEqual(mine);
  });

  it("refuses allow-list entries that can never match, with a next step", () => {
    for (const entry of ["*.example.org", "http://a", "a/b", "a:b", "", "[zz]", "user@host"]) {
      expect(() => new Hosts(LOCAL, { allowedHosts: [entry], allowedOrigins: [] })).toThrow(
        /allowedHosts is not a host name/,
      );
    }
    for (const entry of ["example.org", "localhost:3000", "", "*.example.org"]) {
      expect(() => new Hosts(LOCAL, { allowedHosts: [], allowedOrigins: [entry] })).toThrow(
        /allowedOrigins is not an origin/,
      );
    }
  });

  it("T6: no random host is ever taken for ours", () => {
    const hosts = new Hosts(LOCAL, NONE);
    const ours = new Set(["localhost:8080", "127.0.0.1:8080", "[::1]:8080"]);
    const host = fc.oneof(
      fc.string(),
      fc.domain(),
      fc.webAuthority({ withPort: true, withIPv4: true, withIPv6: true }),
      fc.mixedCase(fc.constant("localhost:8080")),
    );
    fc.assert(
      fc.property(host, (value) => {
        expect(hosts.allowsHost(value, "127.0.0.1")).toBe(ours.has(value.toLowerCase()));
      }),
      { numRuns: rounds(10_000) },
    );
  });
});

it("loopback are localhost and the addresses that only this machine reaches, in either notation", () => {
  const local = ["localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]"];
  const others = [
    "0.0.0.0",
    "::",
    "[::]",
    "192.0.2.1",
    "localhost.example",
    "127.0.0.1.nip.io",
    "",
  ];
  expect([...local, ...others].filter((host) => isLoopback(host))).toEqual(local);
});

it.each([
  [{ host: "127.0.0.1", port: 80 }, "http://127.0.0.1:80"],
  [{ host: "0.0.0.0", port: 8080 }, "http://localhost:8080"],
  [{ host: "::", port: 8080, tls: {} }, "https://localhost:8080"],
  [{ host: "::1", port: 8080, tls: false }, "http://[::1]:8080"],
  [{ host: "::ffff:192.0.2.1", port: 1 }, "http://192.0.2.1:1"],
  [{ host: "gateway.example", port: 443, tls: true }, "https://gateway.example:443"],
])("a listener at %j is reached at %s", (place, url) => {
  expect(listenerUrl(place)).toBe(url);
});
