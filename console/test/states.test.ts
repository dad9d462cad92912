import assert from "node:assert/strict";
import { test } from "node:test";
import type { CampaignJson } from "proto/campaign_service_pb";
import { isPaused, isWaiting } from "../src/components/states";

const WAITING: CampaignJson = {
  state: "CAMPAIGN_STATE_ACTIVE",
  jobs: { queued: 3, running: 0 },
};

test("a paused campaign does not wait for nodes", () => {
  assert.equal(isWaiting(WAITING), true);
  const paused = { ...WAITING, pauseTime: "2026-11-24T08:00:00Z" };
  assert.equal(isPaused(paused), true);
  assert.equal(isWaiting(paused), false);
});

test("a campaign that ended while it was paused is not paused", () => {
  const ended: CampaignJson = {
    state: "CAMPAIGN_STATE_CANCELLED",
    pauseTime: "2026-11-24T08:00:00Z",
  };
  assert.equal(isPaused(ended), false);
});
