/**
 * Credentials of Kubernetes for developers, from the organ that has its authority.
 *
 * <pre>
 *   debug ── issue(user, groups) ──▶ KubeconfigIssuer ◀── provided by ── kubernetes, where a controller may run
 *                                          │
 *                                          └── kubeconfig: new key, short certificate, this node's API server
 * </pre>
 *
 * <p>The caller decides about permissions, since the result may give each right in Kubernetes.
 *
 * <p>Not promised: that a certificate can be revoked. No list contains it, and it ends by itself.
 *
 * <p>Why not let the caller issue certificates itself: the authority's key would be read by a
 * second organ, one that strangers reach.
 */
@Export
@Version("1.0.0")
package dev.polis.api.kubeconfig;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
