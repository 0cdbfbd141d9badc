CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
CREATE TABLE public.older (
    id text NOT NULL,
    text text NOT NULL,
    parent text,
    path text[] NOT NULL,
    branch bigint[] NOT NULL,
    ord bigint NOT NULL,
    level integer NOT NULL,
    radius double precision NOT NULL,
    direction public.vector(8) NOT NULL,
    exact bytea NOT NULL,
    embedding bytea NOT NULL,
    t bigint NOT NULL,
    valid_from bigint,
    valid_until bigint,
    access_count bigint NOT NULL,
    last_accessed bigint,
    recorded_at bigint,
    pinned boolean NOT NULL,
    meta json NOT NULL
);
CREATE TABLE public.older_info (
    key text NOT NULL,
    value jsonb NOT NULL
);
CREATE SEQUENCE public.older_order
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
INSERT INTO public.older (id, text, parent, path, branch, ord, level, radius, direction, exact, embedding, t, valid_from, valid_until, access_count, last_accessed, recorded_at, pinned, meta) VALUES ('drinks', 'Drinks', NULL, '{drinks}', '{1}', 1, 0, 1, '[-0.35355338,-0.35355338,-0.70710677,0,-0.35355338,0.35355338,0,0]', '\xcd3b7f669ea0d6bfcd3b7f669ea0d6bfcd3b7f669ea0e6bf0000000000000000cd3b7f669ea0d6bfcd3b7f669ea0d63f00000000000000000000000000000000', '\x64cc3b7f669ea0d6bfcc3b7f669ea0d6bfcc3b7f669ea0e6bf0000000000000000cc3b7f669ea0d6bfcc3b7f669ea0d63f00000000000000000000000000000000', 1767225600000000, NULL, NULL, 0, NULL, 1767225600000000, false, '{}');
INSERT INTO public.older (id, text, parent, path, branch, ord, level, radius, direction, exact, embedding, t, valid_from, valid_until, access_count, last_accessed, recorded_at, pinned, meta) VALUES ('tax', 'tax filing', NULL, '{tax}', '{4}', 4, 0, 1, '[0,0.2182179,-0.2182179,-0.2182179,0,-0.65465367,-0.65465367,0]', '\x0000000000000000399cfb5690eecb3f399cfb5690eecbbf399cfb5690eecbbf00000000000000002bb53c41ecf2e4bf2bb53c41ecf2e4bf0000000000000000', '\x640000000000000000399cfb5690eecb3f399cfb5690eecbbf399cfb5690eecbbf00000000000000002bb53c41ecf2e4bf2bb53c41ecf2e4bf0000000000000000', 1767225600000000, NULL, 1767225600000000, 0, NULL, 1767225600000000, false, '{"kind": "a\u0000b"}');
INSERT INTO public.older (id, text, parent, path, branch, ord, level, radius, direction, exact, embedding, t, valid_from, valid_until, access_count, last_accessed, recorded_at, pinned, meta) VALUES ('tea', 'green tea', 'drinks', '{drinks,tea}', '{1,2}', 2, 1, 1.5, '[0.085115984,0.085115984,-0.39931732,-0.37969953,-0.29458356,0.48443332,-0.18984976,-0.5695493]', '\xa0f0144329cab53fa0f0144329cab53f0f31b44e6a8ed9bfea70d44aff4cd8bfc2340ffa74dad2bf376d799ff400df3fea70d44aff4cc8bfb0541f78bf39e2bf', '\x644f951d3c294acb3f4f951d3c294acb3f4f951d3c294acbbf4f951d3c294adbbf4f951d3c294acbbf4f951d3c294adb3f4f951d3c294acbbffc2f16ed9e77e4bf', 1767225600000000, NULL, NULL, 0, NULL, 1767225600000000, false, '{"kind": "drink", "n": 1, "deep": {"x": [1, null]}}');
INSERT INTO public.older (id, text, parent, path, branch, ord, level, radius, direction, exact, embedding, t, valid_from, valid_until, access_count, last_accessed, recorded_at, pinned, meta) VALUES ('sencha', 'sencha', 'tea', '{drinks,tea,sencha}', '{1,2,3}', 3, 2, 2, '[-0.23676157,0.024308337,0.14702858,-0.10843867,0.17693958,0.9215594,-0.054219335,-0.162658]', '\x2896160e344ecebf218c02d348e4983f42dcf725d5d1c23f99e854f4a2c2bbbfe4c4acc8f4a5c63ffd0491256a7ded3f99e854f4a2c2abbf73ae3f37fad1c4bf', '\x641d339045a779d2bf00000000000000001d339045a779d23f00000000000000001d339045a779d23fab4c58e87ab6eb3f00000000000000000000000000000000', 1767225600000000, NULL, NULL, 0, NULL, 1767225600000000, true, '{"kind": "drink", "n": 2.0}');
INSERT INTO public.older_info (key, value) VALUES ('memory', '{"schema": 1, "settings": {"dim": 8, "cone_k": 0.1, "metric": "shell", "inherit": 0.4, "embedder": "HashingEmbedder", "curvature": 1.0, "time_coef": 1.0, "base_depth": 1.0, "depth_bias": 0.0, "depth_step": 0.5, "cone_constrained": false}}');
SELECT pg_catalog.setval('public.older_order', 5, true);
ALTER TABLE ONLY public.older_info
    ADD CONSTRAINT older_info_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.older
    ADD CONSTRAINT older_pkey PRIMARY KEY (id);
CREATE INDEX older_parent ON public.older USING btree (parent);
CREATE INDEX older_path ON public.older USING gin (path);
ALTER TABLE ONLY public.older
    ADD CONSTRAINT older_parent_fkey FOREIGN KEY (parent) REFERENCES public.older(id) DEFERRABLE INITIALLY DEFERRED;
