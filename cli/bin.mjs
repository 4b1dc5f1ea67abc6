#!/usr/bin/env node
// Plain JavaScript, so that an old Node can parse this file and print the version error.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`gsv: Node ${process.versions.node} is too old; install Node 20.19 or newer`);
  process.exit(1);
}
const { launch } = await import("./launch/launch.mjs");
await launch();
