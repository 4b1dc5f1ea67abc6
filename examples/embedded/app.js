// A CDK app with two gateways in one stack (docs/embed.md).
const { App, CfnOutput, RemovalPolicy, Stack } = require("aws-cdk-lib");
const { Role, ServicePrincipal } = require("aws-cdk-lib/aws-iam");
const { Topic } = require("aws-cdk-lib/aws-sns");
const { AgentGateway } = require("gsv-cdk");

const app = new App();
const stack = new Stack(app, "Assistants");

const alarmTopic = new Topic(stack, "Alarms", { enforceSSL: true });
const home = new AgentGateway(stack, "Home", { stage: "home", alarmTopic });
const work = new AgentGateway(stack, "Work", {
  stage: "work",
  alarmTopic,
  model: { provider: "anthropic", id: "claude-opus-4-8" },
  // This gateway is a trial: its table is deleted with the stack, and its bucket if it is empty.
  removalPolicy: RemovalPolicy.DESTROY,
});

// A role of this app that may connect to one of them.
const reporter = new Role(stack, "Reporter", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
work.grantConnect(reporter);

for (const { stage, webSocketUrl } of [home, work])
  new CfnOutput(stack, `${stage}Address`, { value: webSocketUrl });

module.exports = { app, stack };
