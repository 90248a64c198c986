import { htmlPage, markup } from "propylon/internal";

/**
 * The script of the page. It reads the OpenAPI document beside it and makes a form per operation; everything it shows goes
 * through `textContent`, so that a server's words are never markup.
 */
const SCRIPT = String.raw`
"use strict";
const here = location.href.replace(/[?#].*$/, "").replace(/\/$/, "");
const byId = (id) => document.getElementById(id);
const make = (tag, text, parent) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
};
const credentials = () => {
  const key = byId("key").value;
  return key ? { authorization: "Bearer " + key } : {};
};
const resolve = (doc, schema) => {
  for (let hops = 0; schema && schema.$ref && hops < 20; hops++)
    schema = schema.$ref.split("/").slice(1).reduce((at, part) => at && at[part], doc);
  return schema || {};
};
const sample = (doc, schema, depth) => {
  schema = resolve(doc, schema);
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const choice = schema.anyOf || schema.oneOf;
  if (choice) return sample(doc, choice[0], depth);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "object" || schema.properties) {
    const value = {};
    if (depth < 4)
      for (const name of schema.required || []) value[name] = sample(doc, (schema.properties || {})[name], depth + 1);
    return value;
  }
  if (type === "array") return [];
  if (type === "number" || type === "integer") return schema.minimum || 0;
  if (type === "boolean") return false;
  return type === "null" ? null : "";
};
const field = (label, element, parent) => {
  const wrapper = make("label", label, parent);
  wrapper.append(element);
  return element;
};
const send = async (url, form, output) => {
  const headers = { "content-type": "application/json", ...credentials() };
  if (form.timeout.value) headers["x-tool-timeout"] = form.timeout.value;
  const from = performance.now();
  output.textContent = "…";
  try {
    const response = await fetch(url, { method: "POST", headers, body: form.body.value });
    const text = await response.text();
    let shown = text;
    try { shown = JSON.stringify(JSON.parse(text), undefined, 2); } catch {}
    output.textContent = response.status + " in " + Math.round(performance.now() - from) + " ms\n" + shown;
  } catch (error) {
    output.textContent = "No answer: " + error.message;
  }
};
const showOperation = (doc, path, operation, parent) => {
  const details = make("details", undefined, parent);
  make("summary", "POST " + decodeURIComponent(path) + " — " + operation.summary, details);
  if (operation.description) make("p", operation.description, details);
  const schema = operation.requestBody ? operation.requestBody.content["application/json"].schema : { type: "object" };
  const form = make("form", undefined, details);
  const body = field("Arguments", make("textarea"), form);
  body.rows = 6;
  body.spellcheck = false;
  body.value = JSON.stringify(sample(doc, schema, 0), undefined, 2);
  const timeout = field("Timeout in seconds", make("input"), form);
  timeout.placeholder = "default";
  make("button", "Call", form);
  const schemaView = make("details", undefined, details);
  make("summary", "Schema of the arguments", schemaView);
  make("pre", JSON.stringify(resolve(doc, schema), undefined, 2), schemaView);
  const output = make("pre", "", details);
  output.setAttribute("role", "status");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void send(new URL("." + path, here).href, { body, timeout }, output);
  });
};
const load = async () => {
  const list = byId("operations");
  list.replaceChildren();
  byId("status").textContent = "Loading…";
  try {
    const response = await fetch(new URL("openapi.json", here).href, { headers: credentials() });
    const doc = await response.json();
    if (!response.ok) {
      byId("status").textContent = doc.error.message + (response.status === 401 ? " Enter a key and load again." : "");
      return;
    }
    document.title = doc.info.title;
    byId("title").textContent = doc.info.title;
    byId("about").textContent = doc.info.description || "";
    const calls = Object.entries(doc.paths).filter(([, item]) => item.post);
    for (const [path, item] of calls) showOperation(doc, path, item.post, list);
    byId("status").textContent = calls.length + (calls.length === 1 ? " operation" : " operations");
  } catch (error) {
    byId("status").textContent = "The document cannot be read: " + error.message;
  }
};
byId("document").href = new URL("openapi.json", here).href;
byId("access").addEventListener("submit", (event) => {
  event.preventDefault();
  void load();
});
void load();
`;

/**
 * The page behind `/docs` and `/<server>/docs`: lists the operations of the document beside it and calls them. It holds no
 * data itself, so everyone may load it; the document and the calls take the key typed into it, which is kept nowhere.
 */
export const PAGE = htmlPage({
  title: "Tools",
  body: markup`<p id="about"></p>
<form id="access">
<label>Key, if the gateway wants one<input id="key" type="password" autocomplete="off"></label>
<button>Load</button>
</form>
<p><span id="status" role="status"></span> <a id="document">OpenAPI document</a></p>
<div id="operations"></div>`,
  script: SCRIPT,
});
