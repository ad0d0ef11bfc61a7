package dev.polis.kubernetes.control;

import com.google.gson.JsonPrimitive;
import dev.polis.api.kubernetes.KubernetesNames;
import java.net.URI;

/**
 * Makes the configuration files of the control plane's programs, as JSON, which is YAML. The same
 * values always make the same text.
 */
final class ControlConfigs {

  private static final String KUBECONFIG =
      """
      {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "polis", "cluster": {
          "server": %s, "certificate-authority": %s, "tls-server-name": %s}}],
        "users": [{"name": "polis", "user": {"client-certificate": %s, "client-key": %4$s}}],
        "contexts": [{"name": "polis", "context": {"cluster": "polis", "user": "polis"}}],
        "current-context": "polis"
      }
      """;

  private static final String ENCRYPTION =
      """
      {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{
          "resources": ["secrets"],
          "providers": [
            {"secretbox": {"keys": [{"name": "key1", "secret": %s}]}},
            {"identity": {}}
          ]
        }]
      }
      """;

  /**
   * A client without a certificate and a token learns whether the server is well, and nothing else:
   * not even which API it has.
   */
  private static final String AUTHENTICATION =
      """
      {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "anonymous": {"enabled": true, "conditions": [
          {"path": "/livez"}, {"path": "/readyz"}, {"path": "/healthz"}]}
      }
      """;

  /**
   * A namespace without labels of its own gets Pods that cannot take the node: no host's
   * namespaces, folders or ports, no privileges. The namespace of the system is its operators'.
   */
  private static final String ADMISSION =
      """
      {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": "PodSecurity", "configuration": {
          "apiVersion": "pod-security.admission.config.k8s.io/v1",
          "kind": "PodSecurityConfiguration",
          "defaults": {
            "enforce": "baseline", "enforce-version": "latest",
            "audit": "baseline", "audit-version": "latest",
            "warn": "baseline", "warn-version": "latest"},
          "exemptions": {"namespaces": ["kube-system"]}}}]
      }
      """;

  private ControlConfigs() {}

  /** Returns the configuration that says who may ask without saying who he is. */
  static String authentication() {
    return AUTHENTICATION;
  }

  /** Returns the configuration that says which Pods a namespace takes. */
  static String admission() {
    return ADMISSION;
  }

  /**
   * Returns a kubeconfig that names files, which the program reads again when they change.
   *
   * @param server the API server
   * @param ca the file of its authority
   * @param identity the file with the client's key and certificate
   */
  static String kubeconfig(URI server, String ca, String identity) {
    return KUBECONFIG.formatted(
        quoted(server.toString()),
        quoted(ca),
        quoted(KubernetesNames.SERVER_NAME),
        quoted(identity));
  }

  /**
   * Returns the configuration that has secrets encrypted in etcd. What was stored before in plain
   * text can still be read.
   *
   * @param key 32 bytes in base64
   */
  static String encryption(String key) {
    return ENCRYPTION.formatted(quoted(key));
  }

  private static String quoted(String text) {
    return new JsonPrimitive(text).toString();
  }
}
