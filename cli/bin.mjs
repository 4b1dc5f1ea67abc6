#!/usr/bin/env node
// Plain JavaScript, so that an old Node can parse this file and print the version error.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`gsv: Node ${process.versions.node} is too old; install Node 20.19 or newer`);
  process.exit(1);
}
const { launch } = await import("./launch/launch.mjs").catch(installed);
await launch();

/**
 * The launcher of the package that npm installed. Only a checkout has the other one, which builds the current sources.
 * To ask for a file first would load `node:fs`, which takes longer than this import.
 */
function installed(error) {
  if (error.code !== "ERR_MODULE_NOT_FOUND" || !error.url?.endsWith("/launch/launch.mjs")) throw error;
  return import("./dist/launch.mjs");
}
