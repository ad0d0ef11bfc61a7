package dev.polis.files.layout;

import dev.polis.files.DirectoryPlacement;
import dev.polis.files.FilePlacement;
import dev.polis.files.FolderPlacement;
import dev.polis.files.Mode;
import dev.polis.files.OrganFolder;
import java.nio.file.Path;

/**
 * Declares the state directory of a node as a tree of types. Its construction does not access the
 * disk.
 *
 * <pre>
 *   esp/        parameters.pb .json, sealed_configuration.pb, cluster_directory.pb, network_configuration.pb,
 *               dhcp_leases.pb, time_servers, enrolment_journal.pb, recovery_share.pb, recovery_configuration.pb, machine_share, removal.pb, volume_format,
 *               crash.txt, crash-shown.txt
 *   data/       volume, node/{roles.pb, credentials/{cert.pem, cert-key.pem, ca.pem, revocations.crl}},
 *               and the folders that organs declare, such as etcd/
 *   ephemeral/  hosts, machine-id, processes/, storage/, consensus/, clock/,
 *               launcher/{framework/, configuration/, home, power-off, restarting,
 *               unresponsive.txt, jvm-error.txt, memory-kills, ended-by, refused.txt, crash.txt, crash-shown.txt}
 *   owner/      owner-key.pem, owner.pem, ca.pem, recovery-key.pem, parameters.json,
 *               and owner-key-next.pem, owner-key-former-*.pem of rotations
 *   plugins/    node.lock    volume.luks    volume.gocryptfs/
 * </pre>
 */
public final class Root extends DirectoryPlacement {

  private final Esp esp;
  private final Data data;
  private final Ephemeral ephemeral;
  private final Owner owner;
  private final DirectoryPlacement plugins = directory("plugins", Mode.PRIVATE_DIRECTORY);
  private final FilePlacement lock = file("node.lock", Mode.PUBLIC);
  private final FilePlacement luksVolume = file("volume.luks", Mode.SECRET);
  private final DirectoryPlacement gocryptfsVolume =
      directory("volume.gocryptfs", Mode.PRIVATE_DIRECTORY);

  private Root(Path path) {
    super(path, Mode.PRIVATE_DIRECTORY);
    esp = new Esp(this);
    data = new Data(this);
    ephemeral = new Ephemeral(this);
    owner = new Owner(this);
  }

  /** Returns the tree placed at a state directory; a relative path is made absolute. */
  public static Root at(Path path) {
    return new Root(path);
  }

  /** Returns the small unencrypted directory. */
  public Esp esp() {
    return esp;
  }

  /** Returns the data volume; use it only while the storage organ reports it as mounted. */
  public Data data() {
    return data;
  }

  /** Returns the directory with the files of the running node. */
  public Ephemeral ephemeral() {
    return ephemeral;
  }

  /**
   * Returns the directory with the keys of the node's owner; the node itself does not read them.
   */
  public Owner owner() {
    return owner;
  }

  /**
   * Returns the store of bundles. It is outside of the data volume, since one of its bundles opens
   * the volume.
   */
  public DirectoryPlacement plugins() {
    return plugins;
  }

  /** Returns the place of the lock, which a running node holds, with its process id. */
  public FilePlacement lock() {
    return lock;
  }

  /** Returns the place of the image of a LUKS volume over FUSE; it belongs to the storage organ. */
  public FilePlacement luksVolume() {
    return luksVolume;
  }

  /**
   * Returns the directory of the encrypted files of a gocryptfs volume; it belongs to the storage
   * organ.
   */
  public DirectoryPlacement gocryptfsVolume() {
    return gocryptfsVolume;
  }

  /** Declares {@code owner/}. */
  public static final class Owner extends DirectoryPlacement {
    private final FilePlacement key = file("owner-key.pem", Mode.SECRET);
    private final FilePlacement certificate = file("owner.pem", Mode.SECRET);
    private final FilePlacement clusterCa = file("ca.pem", Mode.SECRET);
    private final FilePlacement recoveryKey = file("recovery-key.pem", Mode.SECRET);
    private final FilePlacement parameters = file("parameters.json", Mode.SECRET);

    private Owner(Root root) {
      super(root, "owner", Mode.PRIVATE_DIRECTORY);
    }

    /** Returns the place of the owner's private key. */
    public FilePlacement key() {
      return key;
    }

    /** Returns the place of the owner's certificate, once ownership was taken. */
    public FilePlacement certificate() {
      return certificate;
    }

    /** Returns the place of the cluster's certificate, once ownership was taken. */
    public FilePlacement clusterCa() {
      return clusterCa;
    }

    /** Returns the place of the key for the recovery share. */
    public FilePlacement recoveryKey() {
      return recoveryKey;
    }

    /** Returns the place of the generated node parameters of the first start. */
    public FilePlacement parameters() {
      return parameters;
    }
  }

  /** Declares {@code esp/}. */
  public static final class Esp extends DirectoryPlacement {
    private final FilePlacement parameters = file("parameters.pb", Mode.SECRET);
    private final FilePlacement parametersJson = file("parameters.json", Mode.SECRET);
    private final FilePlacement sealedConfiguration = file("sealed_configuration.pb", Mode.SECRET);
    private final FilePlacement clusterDirectory = file("cluster_directory.pb", Mode.PUBLIC);
    private final FilePlacement networkConfiguration =
        file("network_configuration.pb", Mode.PUBLIC);
    private final FilePlacement dhcpLeases = file("dhcp_leases.pb", Mode.PUBLIC);
    private final FilePlacement timeServers = file("time_servers", Mode.PUBLIC);
    private final FilePlacement enrolmentJournal = file("enrolment_journal.pb", Mode.SECRET);
    private final FilePlacement recoveryShare = file("recovery_share.pb", Mode.SECRET);
    private final FilePlacement recoveryConfiguration =
        file("recovery_configuration.pb", Mode.SECRET);
    private final FilePlacement machineShare = file("machine_share", Mode.SECRET);
    private final FilePlacement removal = file("removal.pb", Mode.PUBLIC);
    private final FilePlacement volumeFormat = file("volume_format", Mode.SECRET);
    private final FilePlacement crash = file("crash.txt", Mode.SECRET);
    private final FilePlacement shownCrash = file("crash-shown.txt", Mode.SECRET);

    private Esp(Root root) {
      super(root, "esp", Mode.PRIVATE_DIRECTORY);
    }

    /**
     * Returns the place of the node parameters of the first boot; it may hold a register ticket.
     */
    public FilePlacement parameters() {
      return parameters;
    }

    /** Returns the place of the node parameters from a person. */
    public FilePlacement parametersJson() {
      return parametersJson;
    }

    /**
     * Returns the place of the node's half of the volume key and the node's identity; the storage
     * organ reads and writes it.
     */
    public FilePlacement sealedConfiguration() {
      return sealedConfiguration;
    }

    /** Returns the place of the last known addresses of the control plane. */
    public FilePlacement clusterDirectory() {
      return clusterDirectory;
    }

    /** Returns the place of the static network configuration. */
    public FilePlacement networkConfiguration() {
      return networkConfiguration;
    }

    /** Returns the place of the leases that DHCP servers gave to this node. */
    public FilePlacement dhcpLeases() {
      return dhcpLeases;
    }

    /** Returns the place of the names of the node parameters' time servers, a line for each. */
    public FilePlacement timeServers() {
      return timeServers;
    }

    /**
     * Returns the place of the enrolment journal, the progress of an enrolment; the storage organ
     * reads and writes it.
     */
    public FilePlacement enrolmentJournal() {
      return enrolmentJournal;
    }

    /** Returns the place of the owner's copy of a sealed configuration that a machine has bound. */
    public FilePlacement recoveryConfiguration() {
      return recoveryConfiguration;
    }

    /** Returns the place of the machine share; it belongs to the storage organ. */
    public FilePlacement machineShare() {
      return machineShare;
    }

    /**
     * Returns the place of the cluster's half of the volume key, sealed to the owner; the storage
     * organ reads and writes it.
     */
    public FilePlacement recoveryShare() {
      return recoveryShare;
    }

    /** Returns the place of the proof that the cluster has removed this node. */
    public FilePlacement removal() {
      return removal;
    }

    /**
     * Returns the place of the mark that exists while the storage organ makes a new volume; it
     * belongs to that organ.
     */
    public FilePlacement volumeFormat() {
      return volumeFormat;
    }

    /** Returns the place of the crash that ended the last run. */
    public FilePlacement crash() {
      return crash;
    }

    /** Returns the place of a crash that a later start has shown. */
    public FilePlacement shownCrash() {
      return shownCrash;
    }
  }

  /** Declares {@code data/}. */
  public static final class Data extends DirectoryPlacement {
    private final FilePlacement volume = file("volume", Mode.SECRET);
    private final Node node = new Node(this);

    private Data(Root root) {
      super(root, "data", Mode.PRIVATE_DIRECTORY);
    }

    /**
     * Returns the place of the data that bind this volume to a sealed configuration; it belongs to
     * the storage organ.
     */
    public FilePlacement volume() {
      return volume;
    }

    /** Returns the directory with the identity of this node. */
    public Node node() {
      return node;
    }

    /**
     * Places the declared folder of an organ or role, without an access to the disk.
     *
     * @throws IllegalArgumentException if the name is taken
     */
    public FolderPlacement organFolder(OrganFolder declared) {
      return folder(declared);
    }
  }

  /** Declares {@code data/node/}. */
  public static final class Node extends DirectoryPlacement {
    private final Credentials credentials = new Credentials(this);
    private final FilePlacement roles = file("roles.pb", Mode.PUBLIC);

    private Node(Data data) {
      super(data, "node", Mode.PRIVATE_DIRECTORY);
    }

    /** Returns the directory of the node's key and certificates. */
    public Credentials credentials() {
      return credentials;
    }

    /** Returns the place of the node's last roles. */
    public FilePlacement roles() {
      return roles;
    }
  }

  /** Declares {@code data/node/credentials/}. */
  public static final class Credentials extends DirectoryPlacement {
    private final FilePlacement certificate = file("cert.pem", Mode.PUBLIC);
    private final FilePlacement key = file("cert-key.pem", Mode.SECRET);
    private final FilePlacement clusterCa = file("ca.pem", Mode.PUBLIC);
    private final FilePlacement revocations = file("revocations.crl", Mode.PUBLIC);

    private Credentials(Node node) {
      super(node, "credentials", Mode.PRIVATE_DIRECTORY);
    }

    /** Returns the place of the node certificate. */
    public FilePlacement certificate() {
      return certificate;
    }

    /** Returns the place of the node's private key. */
    public FilePlacement key() {
      return key;
    }

    /** Returns the place of the cluster CA's certificate. */
    public FilePlacement clusterCa() {
      return clusterCa;
    }

    /** Returns the place of the newest revocation list of the cluster CA, in DER. */
    public FilePlacement revocations() {
      return revocations;
    }
  }

  /** Declares {@code ephemeral/}. */
  public static final class Ephemeral extends DirectoryPlacement {
    private final FilePlacement hosts = file("hosts", Mode.PUBLIC);
    private final FilePlacement machineId = file("machine-id", Mode.PUBLIC);
    private final FilePlacement listeners = file("listeners", Mode.PUBLIC);
    private final DirectoryPlacement processes = directory("processes", Mode.PRIVATE_DIRECTORY);
    private final DirectoryPlacement storage = directory("storage", Mode.PRIVATE_DIRECTORY);
    private final DirectoryPlacement consensus = directory("consensus", Mode.PRIVATE_DIRECTORY);
    private final DirectoryPlacement clock = directory("clock", Mode.PRIVATE_DIRECTORY);
    private final DirectoryPlacement shell = directory("shell", Mode.PRIVATE_DIRECTORY);
    private final Launcher launcher = new Launcher(this);

    private Ephemeral(Root root) {
      super(root, "ephemeral", Mode.PRIVATE_DIRECTORY);
    }

    /** Returns the place of the names and addresses of nodes, in the format of hosts(5). */
    public FilePlacement hosts() {
      return hosts;
    }

    /**
     * Returns the place of the machine id: 32 hexadecimal digits, in the format of machine-id(5).
     */
    public FilePlacement machineId() {
      return machineId;
    }

    /** Returns the place of the list of the running node's listeners, a line for each. */
    public FilePlacement listeners() {
      return listeners;
    }

    /** Returns the directory of the records of child processes. */
    public DirectoryPlacement processes() {
      return processes;
    }

    /** Returns the directory that shows the decrypted files of a mounted container. */
    public DirectoryPlacement storage() {
      return storage;
    }

    /** Returns the directory of etcd's sockets and logs. */
    public DirectoryPlacement consensus() {
      return consensus;
    }

    /** Returns the directory in which the program that keeps the machine's clock works. */
    public DirectoryPlacement clock() {
      return clock;
    }

    /** Returns the directory of the sockets of the developers' shell, one for each instance. */
    public DirectoryPlacement shell() {
      return shell;
    }

    /** Returns the directory of the launcher's files. */
    public Launcher launcher() {
      return launcher;
    }
  }

  /** Declares {@code ephemeral/launcher/}. */
  public static final class Launcher extends DirectoryPlacement {
    private final DirectoryPlacement framework = directory("framework", Mode.PRIVATE_DIRECTORY);
    private final DirectoryPlacement configuration =
        directory("configuration", Mode.PRIVATE_DIRECTORY);
    private final FilePlacement home = file("home", Mode.PUBLIC);
    private final FilePlacement powerOff = file("power-off", Mode.PUBLIC);
    private final FilePlacement restarting = file("restarting", Mode.PUBLIC);
    private final FilePlacement jvmError = file("jvm-error.txt", Mode.SECRET);
    private final FilePlacement memoryKills = file("memory-kills", Mode.SECRET);
    private final FilePlacement endedBy = file("ended-by", Mode.SECRET);
    private final FilePlacement unresponsive = file("unresponsive.txt", Mode.SECRET);
    private final FilePlacement refused = file("refused.txt", Mode.SECRET);
    private final FilePlacement crash = file("crash.txt", Mode.SECRET);
    private final FilePlacement shownCrash = file("crash-shown.txt", Mode.SECRET);

    private Launcher(Ephemeral ephemeral) {
      super(ephemeral, "launcher", Mode.PRIVATE_DIRECTORY);
    }

    /** Returns the directory of the framework's cache; deleted at each start. */
    public DirectoryPlacement framework() {
      return framework;
    }

    /** Returns the directory of the organs' configuration; deleted at each start. */
    public DirectoryPlacement configuration() {
      return configuration;
    }

    /** Returns the place of the summary, which is present from HOME to the end. */
    public FilePlacement home() {
      return home;
    }

    /**
     * Returns the place of the process id of a node that restarts; present from before the
     * listeners of the old program close until the new one is HOME.
     */
    public FilePlacement restarting() {
      return restarting;
    }

    /** Returns the place of the file that turns SIGTERM into a power-off. */
    public FilePlacement powerOff() {
      return powerOff;
    }

    /** Returns the place of the report of a node that does not answer calls, while this lasts. */
    public FilePlacement unresponsive() {
      return unresponsive;
    }

    /** Returns the place of the refusal of the last start; absent after a successful one. */
    public FilePlacement refused() {
      return refused;
    }

    /** Returns the place of the crash that ended the last run of a node without {@code esp/}. */
    public FilePlacement crash() {
      return crash;
    }

    /** Returns the place of a crash that a later start has shown, of such a node. */
    public FilePlacement shownCrash() {
      return shownCrash;
    }

    /** Returns the place of the JVM's report when it fails; the next start removes it. */
    public FilePlacement jvmError() {
      return jvmError;
    }

    /**
     * Returns the place of the kernel's counters of processes that it ended for want of memory, as
     * the node found them when it started; present until the node ends by itself.
     */
    public FilePlacement memoryKills() {
      return memoryKills;
    }

    /**
     * Returns the place of the signal that ended the last run and that {@code polis down} did not
     * send, with its time; absent otherwise.
     */
    public FilePlacement endedBy() {
      return endedBy;
    }
  }
}
