/**
 * Names that several organs use for the same things of Kubernetes.
 *
 * <pre>
 *   kubernetes (controller) ── makes ──▶ authorities in etcd ◀── reads ── curator, which issues
 *                                             │                           certificates to workers
 *                                             └── KubernetesNames: where they are, and what they are called
 * </pre>
 *
 * <p>A worker's certificates come from the curator, which knows the worker; the authority that
 * signs them belongs to the control plane. The first organ that needs it makes it: both call {@code
 * PkiStore.ensureAuthority} with these names.
 *
 * <p>Not promised: an interface. Each service between organs has a contract of its own.
 *
 * <p>Why not constants of each organ: a name that differs would make a second authority, and no
 * test of one organ alone would notice.
 */
@Export
@Version("1.1.0")
package dev.polis.api.kubernetes;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
