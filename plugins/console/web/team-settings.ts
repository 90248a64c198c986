import type { PanelTools } from "propylon/panels";
import type { InstanceView, WorkspaceView } from "propylon/plugins/console";
import { copyButton, make, sentenceOf, setRefusal } from "./elements.ts";

const SAVE = "PUT /api/v1/workspaces/:id/teams";

/** The teams of a workspace, to be attached and detached. */
export class TeamSettings {
  readonly #tools: PanelTools;
  readonly #onSaved: () => void;
  readonly #boxes = make("div");
  readonly #save = make("button", { type: "button", marks: { "data-route": SAVE } }, "Save");
  readonly #details = make("details");
  #workspace = "";
  /** Whether somebody chose what is not saved yet. */
  #isEdited = false;

  constructor(parent: Element, tools: PanelTools, onSaved: () => void) {
    this.#tools = tools;
    this.#onSaved = onSaved;
    this.#save.onclick = () => void this.#store();
    this.#boxes.onchange = () => void (this.#isEdited = true);
    const copy = copyButton(tools, () => tools.curl(SAVE, this.#request()));
    this.#details.append(
      make("summary", { marks: { "data-effect": "settings" } }, "Workspace settings"),
      make(
        "fieldset",
        {},
        make("legend", {}, "Attached Teams"),
        this.#boxes,
        make("div", { className: "row" }, this.#save, copy),
      ),
    );
    this.#details.open = new URLSearchParams(location.search).has("settings");
    parent.append(this.#details);
  }

  open(): void {
    this.#details.open = true;
    this.#details.scrollIntoView();
    this.#boxes.querySelector("input")?.focus();
  }

  /** What somebody chose and did not save stays as it is, until they look at another workspace. */
  show(instances: readonly InstanceView[], workspace: WorkspaceView | undefined): void {
    if (workspace?.id !== this.#workspace) this.#isEdited = false;
    this.#workspace = workspace?.id ?? "";
    const chosen = this.#isEdited ? this.#chosen() : (workspace?.teams ?? []);
    this.#save.disabled = this.#workspace === "";
    setRefusal(this.#save, this.#tools.refusal(SAVE));
    this.#draw(instances, chosen);
  }

  #draw(instances: readonly InstanceView[], chosen: readonly string[]): void {
    const drawn = [...this.#boxes.querySelectorAll("input")];
    const isSame =
      drawn.length === instances.length &&
      instances.length > 0 &&
      instances.every(({ id }, at) => drawn[at]!.value === id);
    // A box that has the focus keeps it.
    if (isSame) for (const box of drawn) box.checked = chosen.includes(box.value);
    else if (instances.length === 0) this.#boxes.replaceChildren("No instance is registered yet.");
    else this.#boxes.replaceChildren(...instances.map((each) => boxFor(each, chosen)));
  }

  #chosen(): readonly string[] {
    const checked = this.#boxes.querySelectorAll<HTMLInputElement>("input:checked");
    return [...checked].map(({ value }) => value);
  }

  #request() {
    return { params: { id: this.#workspace }, body: { teams: this.#chosen() } };
  }

  async #store(): Promise<void> {
    const { refusal, send, notify, signal } = this.#tools;
    if (refusal(SAVE) !== undefined || this.#save.ariaBusy === "true") return;
    this.#save.ariaBusy = "true";
    try {
      await send(SAVE, this.#request());
      this.#isEdited = false;
      notify("Saved.");
      this.#onSaved();
    } catch (error) {
      if (!signal.aborted) notify(`Not saved: ${sentenceOf(error)}`);
    } finally {
      this.#save.ariaBusy = "false";
    }
  }
}

function boxFor({ id, name }: InstanceView, chosen: readonly string[]): HTMLElement {
  const members = { type: "checkbox", value: id, checked: chosen.includes(id) };
  return make("label", {}, make("input", { ...members, marks: { "data-effect": "field" } }), name);
}
