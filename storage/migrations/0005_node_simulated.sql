-- Lets nodes be counted without a look at their descriptions.

ALTER TABLE node_session ADD simulated boolean NOT NULL DEFAULT false;
UPDATE node_session SET simulated = true FROM node
  WHERE node.node_id = node_session.node_id
    AND (description_json #>> '{inventory,simulated}')::boolean;
