import { expect, it } from "vitest";
import { headersSchema, isSameHost, unbracket } from "../../../core/internal.ts";

it.each([
  ["http://a.example/x", "http://a.example/y", true],
  ["https://a.example/x", "http://a.example/y", true],
  ["https://a.example:8443/x", "http://a.example/y", true],
  ["http://a.example/x", "https://a.example/y", false],
  ["http://a.example:81/x", "http://a.example/y", false],
  ["http://b.example/x", "http://a.example/y", false],
  ["http://a.example.evil/x", "http://a.example/y", false],
])("T7, T24: whether %s may be named by %s: %s", (url, document, may) => {
  expect(isSameHost(new URL(url), new URL(document))).toBe(may);
});

it.each([
  ["http://[::1]:80/", "::1"],
  ["http://[2001:db8::1]/", "2001:db8::1"],
  ["http://10.0.0.1/", "10.0.0.1"],
  ["http://a.example/", "a.example"],
])("the host of %s is connected to as %s", (url, host) => {
  expect(unbracket(new URL(url).hostname)).toBe(host);
  expect(unbracket(host)).toBe(host);
});

it.each([
  ["authorization", "Bearer 1", true],
  ["x-note", "", true],
  ["x-note", "caf\u00e9\t1", true],
  ["x note", "1", false],
  ["", "1", false],
  ["x-note", "1\r\nx-more: 2", false],
  ["x-note", "\u0000", false],
])("a header %j: %j is one: %s", (name, value, is) => {
  expect(headersSchema().safeParse({ [name]: value }).success).toBe(is);
});
