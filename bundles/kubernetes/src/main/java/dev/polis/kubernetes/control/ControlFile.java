package dev.polis.kubernetes.control;

/**
 * Lists the files of the control plane's programs. Each file has one reader, whose account owns it;
 * a file that several of them need exists several times.
 */
enum ControlFile {
  CA("ca.pem", Reader.API_SERVER),
  AGGREGATION_CA("aggregation-ca.pem", Reader.API_SERVER),
  API_SERVER("apiserver.pem", Reader.API_SERVER),
  API_SERVER_KUBELET_CLIENT("apiserver-kubelet-client.pem", Reader.API_SERVER),
  FRONT_PROXY_CLIENT("front-proxy-client.pem", Reader.API_SERVER),
  ETCD_CA("etcd-ca.pem", Reader.API_SERVER),
  ETCD_CLIENT("etcd-client.pem", Reader.API_SERVER),
  SERVICE_ACCOUNT("service-account.pem", Reader.API_SERVER),
  SERVICE_ACCOUNT_PUBLIC("service-account-public.pem", Reader.API_SERVER),
  ENCRYPTION("encryption.json", Reader.API_SERVER),
  AUTHENTICATION("authentication.json", Reader.API_SERVER),
  ADMISSION("admission.json", Reader.API_SERVER),
  AUDIT_POLICY("audit-policy.json", Reader.API_SERVER),
  CONTROLLER_MANAGER_CA("controller-manager-ca.pem", Reader.CONTROLLER_MANAGER),
  CONTROLLER_MANAGER_AGGREGATION_CA(
      "controller-manager-aggregation-ca.pem", Reader.CONTROLLER_MANAGER),
  CONTROLLER_MANAGER_SERVICE_ACCOUNT(
      "controller-manager-service-account.pem", Reader.CONTROLLER_MANAGER),
  CONTROLLER_MANAGER("controller-manager.pem", Reader.CONTROLLER_MANAGER),
  CONTROLLER_MANAGER_CLIENT("controller-manager-client.pem", Reader.CONTROLLER_MANAGER),
  CONTROLLER_MANAGER_CONFIG("controller-manager.kubeconfig", Reader.CONTROLLER_MANAGER),
  SCHEDULER_CA("scheduler-ca.pem", Reader.SCHEDULER),
  SCHEDULER_AGGREGATION_CA("scheduler-aggregation-ca.pem", Reader.SCHEDULER),
  SCHEDULER("scheduler.pem", Reader.SCHEDULER),
  SCHEDULER_CLIENT("scheduler-client.pem", Reader.SCHEDULER),
  SCHEDULER_CONFIG("scheduler.kubeconfig", Reader.SCHEDULER);

  /** Names the reader of a file. */
  enum Reader {
    API_SERVER,
    CONTROLLER_MANAGER,
    SCHEDULER
  }

  private final String fileName;
  private final Reader reader;

  ControlFile(String fileName, Reader reader) {
    this.fileName = fileName;
    this.reader = reader;
  }

  /** Returns the name of the file in the folder. */
  String fileName() {
    return fileName;
  }

  /** Returns the program that reads the file. */
  Reader reader() {
    return reader;
  }
}
