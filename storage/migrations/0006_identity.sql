-- Who belongs to the fleet: invites, identities with their bans, and refused attempts to enrol.

CREATE TABLE invite (
  invite_id text PRIMARY KEY,
  sequence bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  secret_hash text NOT NULL,            -- SHA-256 of the secret, in hexadecimal.
  scope bytea NOT NULL,                 -- assay.v1.InviteScope
  created_by text NOT NULL,
  create_time timestamptz NOT NULL,
  expire_time timestamptz NOT NULL,
  revoke_time timestamptz,
  -- The identity that it made. Stays when the identity is removed. NULL: not used.
  identity_id text,
  identity_name text,
  use_time timestamptz
);

CREATE TABLE identity (
  identity_id text PRIMARY KEY,         -- UUID of a node, name of a user.
  role text NOT NULL,
  name text COLLATE "C" NOT NULL UNIQUE,
  key_hash text NOT NULL UNIQUE,        -- SHA-256 of the public key, in hexadecimal.
  serial text NOT NULL,                 -- Of the newest certificate, in hexadecimal.
  certificate_expire_time timestamptz NOT NULL,
  create_time timestamptz NOT NULL,
  expire_time timestamptz,              -- NULL: never.
  invite_id text NOT NULL,
  ephemeral boolean NOT NULL,
  settings bytea NOT NULL,              -- assay.v1.EnrolledIdentity with labels, provider, price.
  ban_time timestamptz,                 -- NULL: not banned.
  ban_reason text,
  banned_by text
);

-- One row. Grows with every change that affects who may call. Locking it serialises enrolments.
CREATE TABLE identity_revision (
  revision bigint NOT NULL
);
INSERT INTO identity_revision VALUES (1);

CREATE TABLE enrolment_attempt (
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  "time" timestamptz NOT NULL,
  address text NOT NULL,
  subject text NOT NULL,
  reason text,
  message text NOT NULL
);
