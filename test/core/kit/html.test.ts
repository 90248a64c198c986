import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { htmlPage, markup } from "../../../core/kit/html.ts";

const STRANGE = `</title><script>alert('x')</script>"\`&`;
const ESCAPED =
  "&#60;/title&#62;&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;&#34;&#96;&#38;";

it("markup holds a text escaped, markup as it stands, and nothing for nothing", () => {
  const { text } =
    markup`<p title="${STRANGE}">${[markup`<i>${STRANGE}</i>`, markup`<b>${2}</b>`]}${undefined}</p>`;
  expect(text).toBe(`<p title="${ESCAPED}"><i>${ESCAPED}</i>\n<b>2</b></p>`);
});

it("a page runs its own style and script and nothing else, and its title is a text", () => {
  const { text, headers } = htmlPage({
    title: STRANGE,
    body: markup`<p>Hello</p>`,
    script: "go()",
  });
  expect(text).toContain(`<title>${ESCAPED}</title>`);
  const digestIn = (tag: string): string => {
    const [, inner] = new RegExp(`<${tag}>([\\s\\S]*)</${tag}>`).exec(text)!;
    return `'sha256-${createHash("sha256").update(inner!).digest("base64")}'`;
  };
  expect(headers["content-security-policy"]).toBe(
    `default-src 'none'; style-src ${digestIn("style")}; script-src ${digestIn("script")}; connect-src 'self'; ` +
      "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  );
  expect(headers).toMatchObject({
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  });
});

it("a page without a script runs none; one with a form tells where it came from, and no other does", () => {
  const plain = htmlPage({ title: "Plain", body: markup`<p>Hello</p>` });
  expect(plain.text).not.toContain("<script");
  expect(plain.headers["content-security-policy"]).not.toMatch(/script-src|connect-src/);
  expect(plain.headers["referrer-policy"]).toBe("no-referrer");
  const form = htmlPage({ title: "Form", body: markup`<form></form>`, formAction: "'self'" });
  expect(form.headers["content-security-policy"]).toContain("form-action 'self'; ");
  expect(form.headers["referrer-policy"]).toBe("same-origin");
});
