package dev.polis.kubernetes.worker;

import dev.polis.base.posix.Mounts;
import dev.polis.files.AtomicFile;
import dev.polis.files.DirectoryPlacement;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.FileTree;
import dev.polis.files.FolderPlacement;
import dev.polis.files.Mode;
import dev.polis.files.OrganFolder;
import dev.polis.files.Stored;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** Declares the worker's folders and files on the data volume. */
final class WorkerFiles {

  // On a node that is root, the DNS server passes through it.
  private static final OrganFolder OWN =
      new OrganFolder("kubernetes-worker", Mode.PASSABLE_DIRECTORY);

  // It contains sockets, whose paths may have 107 characters.
  private static final OrganFolder KUBELET = new OrganFolder("kubelet", Mode.PRIVATE_DIRECTORY);

  private static final OrganFolder VOLUMES =
      new OrganFolder("kubernetes-volumes", Mode.PRIVATE_DIRECTORY);

  private final FolderPlacement own;
  private final FolderPlacement kubelet;
  private final FolderPlacement volumes;
  private final DirectoryPlacement network;
  private final DirectoryPlacement kernel;

  final FilePlacement ca;
  final FilePlacement kubeletKey;
  final FilePlacement kubeletServer;
  final FilePlacement kubeletClient;
  final FilePlacement provisionerKey;
  final FilePlacement provisioner;
  final FilePlacement netservicesKey;
  final FilePlacement netservices;

  final FilePlacement kubeletConfiguration;
  final FilePlacement kubeletKubeconfig;
  final FilePlacement kubeletScript;
  final FilePlacement resolver;
  final FilePlacement proxyConfiguration;
  final FilePlacement netservicesKubeconfig;
  final FilePlacement corefile;
  final FilePlacement controllers;

  private final List<FilePlacement> configuration;

  /** Makes a declared folder. */
  @FunctionalInterface
  interface Folders {
    FolderPlacement folder(OrganFolder declared) throws FileException;
  }

  /** Makes the folders. */
  WorkerFiles(Folders storage) throws FileException {
    this.own = storage.folder(OWN);
    this.kubelet = storage.folder(KUBELET);
    this.volumes = storage.folder(VOLUMES);
    this.network = own.declareDirectory("net.d", Mode.PRIVATE_DIRECTORY);
    this.kernel = own.declareDirectory("kernel", Mode.PRIVATE_DIRECTORY);
    this.ca = own.declareFile("ca.crt", Mode.SECRET);
    this.kubeletKey = own.declareFile("kubelet.key", Mode.SECRET);
    this.kubeletServer = own.declareFile("kubelet-server.crt", Mode.PUBLIC);
    this.kubeletClient = own.declareFile("kubelet-client.crt", Mode.PUBLIC);
    this.provisionerKey = own.declareFile("csi-provisioner.key", Mode.SECRET);
    this.provisioner = own.declareFile("csi-provisioner.crt", Mode.PUBLIC);
    this.netservicesKey = own.declareFile("netservices.key", Mode.SECRET);
    this.netservices = own.declareFile("netservices.crt", Mode.SECRET);
    this.kubeletConfiguration = own.declareFile("kubelet.json", Mode.PUBLIC);
    this.kubeletKubeconfig = own.declareFile("kubelet.kubeconfig", Mode.PUBLIC);
    this.kubeletScript = own.declareFile("kubelet.sh", Mode.PUBLIC);
    this.resolver = own.declareFile("resolv.conf", Mode.PUBLIC);
    this.proxyConfiguration = own.declareFile("kube-proxy.json", Mode.PUBLIC);
    this.netservicesKubeconfig = own.declareFile("netservices.kubeconfig", Mode.SECRET);
    this.corefile = own.declareFile("Corefile", Mode.SECRET);
    this.controllers = own.declareFile("controllers", Mode.PUBLIC);
    this.configuration =
        List.of(
            kubeletConfiguration,
            kubeletKubeconfig,
            kubeletScript,
            resolver,
            proxyConfiguration,
            netservicesKubeconfig,
            corefile,
            controllers);
    network.create();
    kernel.create();
  }

  /** Returns the folder of the worker's own files. */
  Path own() {
    return own.path();
  }

  /** Returns the folder of the CNI configuration. */
  Path network() {
    return network.path();
  }

  /** Returns the folder of the files that replace kernel settings. */
  Path kernel() {
    return kernel.path();
  }

  /** Returns the folder of the kubelet's state. */
  Path kubelet() {
    return kubelet.path();
  }

  /** Returns the folder of persistent volumes. */
  Path volumes() {
    return volumes.path();
  }

  /** Writes a text to a file if it differs; returns whether it did. */
  static boolean write(FilePlacement file, String text) throws FileException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    if (file.read() instanceof Stored.Present<byte[]> present
        && Arrays.equals(present.value(), bytes)) {
      return false;
    }
    file.write(bytes);
    return true;
  }

  /** Writes a text to an undeclared file if it differs; returns whether it did. */
  static boolean writeAside(Path file, String text) throws FileException {
    try {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      if (Files.exists(file) && Arrays.equals(Files.readAllBytes(file), bytes)) {
        return false;
      }
      AtomicFile.replace(file, bytes, Mode.PUBLIC, AtomicFile.Durability.PROCESS);
      return true;
    } catch (IOException e) {
      throw new FileException(
          FileException.Problem.IO,
          "cannot write " + file + ": " + e.getMessage(),
          "check whether the disk is full or read-only",
          e);
    }
  }

  /**
   * Deletes the files of the role after its programs have ended. Keys and certificates stay, since
   * a certificate belongs to its key; persistent volumes stay, too.
   */
  void deleteConfiguration() throws IOException {
    for (FilePlacement file : configuration) {
      file.delete();
    }
    unmountBelow(kubelet.path());
    FileTree.empty(network.path());
    FileTree.empty(kernel.path());
    FileTree.empty(kubelet.path());
  }

  /**
   * Unmounts the kubelet's mounts for Pods. A sandbox has removed them; on the machine, the
   * deletion of a mount point would delete a persistent volume.
   */
  private static void unmountBelow(Path folder) throws IOException {
    for (Mounts.Mount mount : Mounts.list().reversed()) {
      if (mount.point().startsWith(folder)) {
        Mounts.unmount(mount.point());
      }
    }
  }
}
