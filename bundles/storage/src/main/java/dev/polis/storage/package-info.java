/**
 * Keeps the state directory of a node, its data volume and what unlocks it.
 *
 * <pre>
 *   StorageConfig ─▶ StorageSettings ─▶ StorageService ◀─ StorageComponent
 *        ┌─────────────────────────────────┤
 *        │                                 ├─ SealedConfigurationFile, EnrolmentJournalFile, RecoveryShareFile, MachineShareFile
 *        │                                 ├─ SealerTpm       binds two of them to this machine and what it booted
 *        │                                 ├─ AttesterTpm     proves to a cluster what was booted
 *        │                                 ├─ RecoveryCheck   what opens the volume after a power-off
 *        │                                 ├─ StorageHealth   conditions for screens and metrics
 *        │                                 ├─ ClockCheck      the clock against the times of the node's files
 *        │                                 └─ AuditVolume     opens the platform's audit log on the volume
 *        ├─ slots                updates the system of a machine that an image has booted
 *        └─ VolumeManager        mounts, and publishes whether data/ can be used
 *             ├─ VolumeMaker     makes and discards; nothing else does
 *             ├─ VolumeMarks     the owner of a volume, and whether it is finished
 *             └─ VolumeCatalog   the ways to keep a volume, and what this machine lacks for each
 *               ├─ VolumePlain        INSECURE                 a directory
 *               ├─ VolumeLuksMapper   both encrypted modes     LUKS2 on dm-crypt (and dm-integrity)
 *               ├─ VolumeLuksFuse     ENCRYPTED                LUKS image, qemu-storage-daemon, loop, XFS
 *               └─ VolumeGocryptfs    AUTHENTICATED_ENCRYPTED  gocryptfs
 * </pre>
 *
 * <p>The organ uses the kernel's device-mapper if there is one; the two ways in user space are for
 * kernels without it. On a machine that can give neither, the organ refuses the mode with the
 * reason; it never replaces a mode by a weaker one. {@link dev.polis.storage.VolumeMaker} alone
 * makes and discards volumes, so that the guard against formatting a disk that is in use is one
 * page and not four.
 *
 * <p>Keys reach programs through standard input, or, if a program reads only files, through a file
 * on a tmpfs, which the organ wipes after the program has read it. No argument list contains a key,
 * since every user of a machine can see those. The organ runs programs and links none: others audit
 * cryptsetup and mkfs, and their crash does not crash the node.
 *
 * <p>Not promised: that the organ notices a full file system under a sparse image before writes
 * into the volume fail; that it notices an older state of the disk that a person put back; that the
 * kernel never pages out keys.
 *
 * <ul>
 *   <li>Needs: BootReport, HandOvers, HealthRegistry, LogTree, ProcessManager, RpcHost, Supervisor
 *   <li>Uses if there: Sealer
 *   <li>Provides: BindableService, Storage
 *   <li>Configuration: dev.polis.storage
 *   <li>Files: data/audit, data/volume, ephemeral/storage, esp/enrolment_journal.pb,
 *       esp/machine_share, esp/recovery_configuration.pb, esp/recovery_share.pb,
 *       esp/sealed_configuration.pb, esp/volume_format, owner/recovery-key.pem, volume.gocryptfs,
 *       volume.luks
 *   <li>Ports: management
 * </ul>
 */
package dev.polis.storage;
