import { definePlugin } from "propylon";

export default definePlugin({ name: "lifecycle", setup() {} });
