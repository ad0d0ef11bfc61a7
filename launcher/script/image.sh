# Builds an image that boots a machine into a node, and runs it in virtual machines.
#
#   disk image:  POLIS-ESP (boot files a and b) · POLIS-SYSTEM-a · POLIS-SYSTEM-b;  the first boot adds POLIS-STATE and METROPOLIS-NODE-DATA
#   boot file:   systemd's stub + kernel + initramfs + command line with the system's root hash, one file for UEFI
#   system:      EROFS, its blocks checked against the root hash by dm-verity: Debian's programs, Java, etcd, the distribution
# shellcheck shell=bash

# What a build needs of the machine. Each goes by its own program's name into PACKAGE_OF.
IMAGE_BUILDERS=(mkfs.erofs veritysetup mkfs.vfat mcopy sgdisk cpio zstd objcopy depmod)
IMAGE_RUNNERS=(qemu-system-x86_64 swtpm)
# What signs boot files, and what the firmware is to know of it.
IMAGE_SIGNERS=(openssl sbsign sbsiglist sbvarsign)

# What the system has of Debian: the programs that init, the launcher and the organs call.
IMAGE_PACKAGES=(bash busybox-static chrony coreutils cryptsetup-bin dosfstools e2fsprogs findutils gdisk grep iproute2 kmod libc-bin libtss2-tcti-device0 mawk mount procps sed tpm2-tools
  util-linux xfsprogs)

# What these require for the scripts of an installed Debian, which the system does not run.
IMAGE_WITHOUT='^(adduser|debconf|dpkg|init-system-helpers|lib(pam|python|perl)[-a-z0-9.]*|logsave|media-types|mailcap|passwd|perl[-a-z0-9.]*|python3[-a-z0-9.]*|sensible-utils|tar|tzdata|ucf)$'

# Packages without what they require: the kernel, by the name of the package that follows its versions, and the stub of boot files.
IMAGE_KERNEL=linux-image-cloud-amd64 IMAGE_STUB=systemd-boot-efi

# The modules of Java that the class path needs, with what it looks up by name.
IMAGE_JAVA_MODULES=java.base,java.compiler,java.desktop,java.instrument,java.logging,java.management,java.naming,java.net.http,java.security.jgss,java.security.sasl,java.sql,java.xml,jdk.crypto.ec,jdk.httpserver,jdk.management,jdk.net,jdk.unsupported,jdk.zipfs

# The drivers that the initramfs loads, with those that they need: disks, dm-verity, the system's file system, the firmware's variables, the ESP's file system.
IMAGE_DRIVERS=(virtio_pci virtio_blk virtio_scsi sd_mod ahci nvme dm_mod dm_verity erofs crc32c_intel sha256_generic efivarfs vfat nls_cp437 nls_ascii)

# All files of an image have this time, so that two builds of the same sources give the same bytes; Java's class data also depends on the times of jars.
IMAGE_TIME=1767225600

# The size of a slot for a system, and of the ESP, in MiB: the largest system so far, twice; two slots of boot files of 32 MiB, and room for a third.
IMAGE_SLOT=512 IMAGE_ESP=128

# The version of a system without --version.
IMAGE_VERSION=0.1.0

# test_programs TIER: prints the programs of the tests; those of images only for the tiers that build one.
test_programs() {
  local program
  for program in "${!PACKAGE_OF[@]}"; do
    [[ "$1" == quick && " ${IMAGE_BUILDERS[*]} ${IMAGE_RUNNERS[*]} ${IMAGE_SIGNERS[*]} tpm2_unseal " == *" $program "* ]] || printf '%s\n' "$program"
  done | LC_ALL=C sort
}

command_image() {
  local action="${1:-}" to="$POLIS_CACHE/image/polis.img" parameters="" line="" key="" machine="$POLIS_CACHE/machine" address=127.83.84.2 until="" memory=2048 disk=2400 keys="" secure="" drive="" version="$IMAGE_VERSION" reboots=end
  [[ "$action" == build || "$action" == run ]] || usage "image takes build or run, not \"$action\""
  shift
  while [[ $# -gt 0 ]]; do
    case "$1" in
      --help | -h) help_of image && return ;;
      --parameters) needs_value "$1" $# && parameters="$2" ;;
      *)
        case "$action $1" in
          "build --to" | "run --image") needs_value "$1" $# && to="$2" ;;
          "build --secure-boot-keys") needs_value "$1" $# && keys="$2" ;;
          "run --drive") needs_value "$1" $# && drive="$2" ;;
          "run --secure-boot") needs_value "$1" $# && secure="$2" ;;
          "build --command-line") needs_value "$1" $# && line="$2" ;;
          "build --version") needs_value "$1" $# && version="$2" ;;
          "run --on-reboot") needs_value "$1" $# && reboots="$2" ;;
          "run --machine") needs_value "$1" $# && machine="$2" ;;
          "run --recovery-key") needs_value "$1" $# && key="$2" ;;
          "run --address") needs_value "$1" $# && address="$2" ;;
          "run --until") needs_value "$1" $# && until="$2" ;;
          "run --memory") needs_value "$1" $# && memory="$2" ;;
          "run --disk") needs_value "$1" $# && disk="$2" ;;
          *) usage "image $action knows no option \"$1\"" ;;
        esac
        ;;
    esac
    shift 2
  done
  [[ -z "$parameters" || -f "$parameters" || "$action $parameters" == "run none" ]] || usage "--parameters $parameters: there is no such file"
  if [[ "$action" == build ]]; then
    [[ "$version" =~ ^[0-9]{1,9}(\.[0-9]{1,9}){0,3}$ ]] || usage "--version takes up to four numbers with dots between them, not \"$version\""
    image_build "$to" "$parameters" "${line:+$line }polis.version=$version" "$keys" "$version"
  else
    [[ "$memory" =~ ^[1-9][0-9]*$ && "$disk" =~ ^[1-9][0-9]*$ ]] || usage "--memory and --disk take a number of MiB, not \"$memory\" and \"$disk\""
    [[ "$secure" == on || "${secure:-off}" == off ]] || usage "--secure-boot takes on or off, not \"$secure\""
    [[ "$reboots" == end || "$reboots" == again ]] || usage "--on-reboot takes end or again, not \"$reboots\""
    local -a more=()
    [[ -z "$drive" || -f "$drive" ]] || usage "--drive $drive: there is no such file"
    [[ -z "$drive" ]] || more+=(-drive "if=none,id=drive,format=raw,readonly=on,file=$drive" -device virtio-blk-pci,drive=drive)
    [[ -z "$key" || -f "$key" ]] || usage "--recovery-key $key: there is no such file"
    [[ -z "$key" ]] || more+=(-fw_cfg "name=opt/dev.polis/recovery-key.pem,file=$key")
    IMAGE_SECURE_BOOT="$secure" IMAGE_REBOOTS="$reboots" image_run "$machine" "$to" "$parameters" "$address" "$until" "$memory" "$disk" "${more[@]}"
  fi
}

# image_build OUTPUT PARAMETERS COMMAND_LINE KEYS VERSION
image_build() {
  # The times and modes of all files are part of the image.
  export SOURCE_DATE_EPOCH="$IMAGE_TIME"
  umask 022
  local output="$1" parameters="$2" line="$3" keys="$4" version="$5" java etcd work="$POLIS_CACHE/image" began=$SECONDS
  java="$(java_home)"
  etcd="$(etcd_folder "$POLIS_CACHE")"
  provide_programs "$POLIS_CACHE" "${IMAGE_BUILDERS[@]}"
  local -a missing
  mapfile -t missing < <(missing_programs "${IMAGE_BUILDERS[@]}")
  [[ ${#missing[@]} == 0 ]] || refuse "an image cannot be built without ${missing[*]}" "install the packages $(packages_of "${missing[@]}" | paste -sd ' ')"
  [[ -z "$keys" ]] || image_keys "$keys"
  build_if_stale "$java"
  mkdir -p "$work"
  {
    flock 8
    while_waiting "fetching Debian's packages" "$work/packages.log" image_fetch "$work" ||
      refuse "the packages of the system could not be fetched; apt's messages are in $work/packages.log" "check the network, and the Debian mirror of this machine"
    local inputs
    inputs="$(image_inputs "$work" "$java" "$etcd")"
    [[ "$(cat "$work/inputs" 2>/dev/null)" == "$inputs" ]] ||
      { rm -f "$work/inputs" && while_waiting "assembling the system" "$work/system.log" image_system "$work" "$java" "$etcd" && printf '%s' "$inputs" >"$work/inputs"; } ||
      refuse "the system could not be assembled: $(tail -n 1 "$work/system.log")" "its log is $work/system.log"
    while_waiting "making the disk" "$work/disk.log" image_disk "$work" "$output" "$parameters" "$line" "$keys" ||
      refuse "the disk image could not be made: $(tail -n 1 "$work/disk.log")" "its log is $work/disk.log"
    say "$output: a system of $(image_size "$work/system.img"), a boot file of $(image_size "$work/a.efi"), $(image_size "$output") on this disk, made in $(duration $((SECONDS - began)))"
    image_update "$work" "${output%.img}.update" "$version"
    printf '%s  %s\n' "$(cat "$work/root-hash")" "root hash of the system" "$(sha256sum <"$work/a.efi" | cut -d ' ' -f 1)" "SHA-256 of the boot file"
    image_allow "$work" "$version" "$keys"
  } 8>"$work/lock"
}

# image_allow WORK VERSION KEYS: prints the commands that allow the machines of this image, which first boot slot a.
image_allow() {
  local work="$1" programs options
  programs="$(image_measured "$work/loader.efi") $(image_measured "$work/a.efi")"
  options="$({ iconv -t UTF-16LE <"$work/a.command-line" && printf '\0\0'; } | sha256sum | cut -d ' ' -f 1)"
  # The loader and the stub both measure the command line that the one gives to the other.
  printf '%s\n' "allow it on machines with Secure Boot off:" \
    "  polisctl cluster attestation allow $2 $programs $(image_measured "$work/boot/vmlinuz") --options $options --options $options"
  [[ -n "$3" ]] || return 0
  # With Secure Boot the stub takes no command line from the loader, and starts the kernel without the firmware.
  printf '%s\n' "allow it on machines with Secure Boot on (never seen on a machine: compare with what node describe shows):" \
    "  polisctl cluster attestation allow $2-secure-boot $programs --options $options"
}

# image_measured FILE: prints the SHA-256 of a program of UEFI as the firmware measures it: without its checksum and its signatures (Authenticode).
image_measured() {
  local header signatures
  header="$(od -A n -t u4 -j 60 -N 4 "$1" | tr -d ' ')"
  # In a program of 64 bits the checksum is 88 bytes behind the start of the header, and the place of the signatures, which end the file, 168.
  signatures="$(od -A n -t u4 -j $((header + 168)) -N 4 "$1" | tr -d ' ')"
  [[ "$signatures" != 0 ]] || signatures="$(stat -c %s "$1")"
  {
    head -c $((header + 88)) "$1"
    dd if="$1" bs=1 skip=$((header + 92)) count=76 status=none
    dd if="$1" bs=1M iflag=skip_bytes,count_bytes skip=$((header + 176)) count=$((signatures - header - 176)) status=none
  } | sha256sum | cut -d ' ' -f 1
}

# image_size FILE: prints how much a file takes on the disk.
image_size() {
  du -h --apparent-size "$1" | cut -f 1 | sed 's/\([KMG]\)$/ \1iB/'
}

# image_apt WORK: fills APT with an apt-get for which no package is installed, so that it fetches all that a system needs.
image_apt() {
  private_apt "$1"
  : >"$1/status"
  APT+=(-o "Dir::State::status=$1/status")
}

# image_fetch WORK: fetches the packages into WORK/packages, where they stay until their list changes.
image_fetch() {
  local work="$1" list="${IMAGE_PACKAGES[*]} $IMAGE_WITHOUT $IMAGE_KERNEL $IMAGE_STUB"
  local -a APT packages
  [[ "$(cat "$work/packages/list" 2>/dev/null)" != "$list" ]] || return 0
  rm -rf "$work/packages"
  image_apt "$work/packages"
  "${APT[@]}" update || return 1
  mapfile -t packages < <("${APT[@]}" install --simulate --no-install-recommends "${IMAGE_PACKAGES[@]}" | awk '$1 == "Inst" { print $2 }' | grep -Ev "$IMAGE_WITHOUT")
  [[ ${#packages[@]} -gt 0 ]] || return 1
  packages+=("$IMAGE_STUB" "$(apt-cache "${APT[@]:2}" depends "$IMAGE_KERNEL" | awk '$1 == "Depends:" && /linux-image-/ { print $2; exit }')")
  (cd "$work/packages/archives" && "${APT[@]}" download "${packages[@]}") &&
    printf '%s' "$list" >"$work/packages/list"
}

# image_inputs WORK JAVA ETCD: prints a digest that changes with each input of the system.
image_inputs() {
  {
    cat "$1/packages/list" "$2/release" "$POLIS_REPOSITORY"/launcher/script/{image,words,build,node}.sh "$POLIS_REPOSITORY/launcher/script/start-node"
    find "$DISTRIBUTION" "$3" "$POLIS_REPOSITORY/launcher/image" -type f -printf '%p %T@ %s\n' | LC_ALL=C sort
  } | sha256sum | cut -d ' ' -f 1
}

# image_system WORK JAVA ETCD: makes WORK/system.img, with its root hash in WORK/root-hash and its hash tree behind it from the byte in WORK/hash-offset.
image_system() {
  local work="$1" java="$2" etcd="$3" root="$1/root" package size
  rm -rf "$root" && mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/usr/lib64"
  ln -s usr/bin usr/sbin usr/lib usr/lib64 "$root/"
  for package in "$work"/packages/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --keep-directory-symlink --no-same-owner || return 1
  done
  rm -rf "$root"/usr/share/{doc,man,info,locale,lintian,bash-completion,bug,zsh,initramfs-tools} "$root"/usr/lib/{gconv,systemd/system} "$root"/var "$root"/home "$root"/etc/init.d "$root"/lib/modules/*/kernel/{sound,drivers/{gpu,media,infiniband,iio,usb/serial}}
  mkdir -p "$root"/{proc,sys,dev,run,tmp,var,boot,state,polis,root} "$work/boot"
  mv "$root"/boot/vmlinuz-* "$work/boot/vmlinuz" || return 1
  rm -rf "${root:?}"/boot/*
  depmod -b "$root" "$(ls "$root/lib/modules")" || return 1
  ln -sf /usr/bin/busybox "$root/sbin/init"
  local applet
  for applet in acpid poweroff reboot halt; do
    [[ -e "$root/usr/bin/$applet" || -e "$root/usr/sbin/$applet" ]] || ln -s /usr/bin/busybox "$root/usr/sbin/$applet"
  done
  [[ -e "$root/usr/bin/awk" ]] || ln -s mawk "$root/usr/bin/awk"
  printf 'root:x:0:0:root:/root:/bin/false\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n' >"$root/etc/passwd"
  printf 'root:x:0:\ntty:x:5:\nnogroup:x:65534:\n' >"$root/etc/group"
  printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$root/etc/nsswitch.conf"
  ln -sf /run/polis/hosts "$root/etc/hosts"
  ln -sf /run/polis/resolv.conf "$root/etc/resolv.conf"
  ln -sf /run/polis/machine-id "$root/etc/machine-id"
  # A minute is the longest pause between two processes of the node, and two are ample for a start.
  mkdir -p "$root/etc/modprobe.d"
  printf 'options %s\n' "softdog soft_margin=180" "wdat_wdt timeout=180" >"$root/etc/modprobe.d/polis-watchdog.conf" || return 1
  cp -r "$POLIS_REPOSITORY/launcher/image/machine" "$root/polis/machine" || return 1
  mv "$root/polis/machine/inittab" "$root/etc/inittab"
  "$java/bin/jlink" --add-modules "$IMAGE_JAVA_MODULES" --strip-debug --no-header-files --no-man-pages --output "$root/polis/java" || return 1
  mkdir -p "$root/polis/etcd" "$root/polis/launcher/script" "$root/polis/launcher/dist/target"
  cp "$etcd/etcd" "$etcd/etcdctl" "$root/polis/etcd/" &&
    cp "$POLIS_REPOSITORY"/launcher/script/{words,build,node}.sh "$POLIS_REPOSITORY/launcher/script/start-node" "$root/polis/launcher/script/" &&
    cp -r "$DISTRIBUTION" "$root/polis/launcher/dist/target/polis" || return 1
  find "$root" -exec touch -h -d "@$IMAGE_TIME" {} +
  image_train "$root" || { rm -rf "$root/polis/.polis" && echo "the training failed; the machine's node starts without class data, and slower"; }
  mkfs.erofs --quiet -zlz4hc -T "$IMAGE_TIME" -U 6d657472-6f70-6f6c-6973-000000000001 --all-root "$work/system.img" "$root" || return 1
  size="$(stat -c %s "$work/system.img")"
  # The hash tree begins at a block of its own.
  size=$(((size + 4095) / 4096 * 4096))
  truncate -s "$size" "$work/system.img"
  veritysetup format --hash-offset="$size" --salt="$(sha256sum <"$work/system.img" | cut -d ' ' -f 1)" --uuid=6d657472-6f70-6f6c-6973-000000000002 \
    "$work/system.img" "$work/system.img" >"$work/verity.txt" || return 1
  awk '/^Root hash:/ { print $3 }' "$work/verity.txt" >"$work/root-hash"
  printf '%s\n' "$size" >"$work/hash-offset"
  [[ -s "$work/root-hash" ]]
}

# image_train ROOT: makes the class data of the node inside the system's root, where Java and the jars have the paths and times of the image.
image_train() {
  local root="$1"
  local -a apart=(unshare --mount --net --pid --fork --kill-child)
  [[ "$(id -u)" == 0 ]] || apart+=(--map-root-user)
  # Its network, processes and temporary files are those of this namespace, which ends with it.
  "${apart[@]}" bash -euc '
    # A node wants to know the file system of its state, which is a mount.
    mount --bind "$1" "$1"
    cd "$1"
    mount --rbind /dev dev
    mount -t proc proc proc
    mount -t sysfs sys sys
    mount -t tmpfs tmp tmp
    mount -t tmpfs run run
    exec chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin AOT_WAITS=yes /bin/bash -euc "
      POLIS_REPOSITORY=/polis POLIS_CACHE=/polis/.polis
      ip link set dev lo up
      mkdir -p /polis/.polis
      for part in words build node; do source /polis/launcher/script/\$part.sh; done
      aot_train /polis/java /polis/etcd
      [[ -f \$(aot_cache /polis/java) ]] || { cat /polis/.polis/aot.log && exit 1; }
    "' train "$root" &&
    rm -f "$root"/polis/.polis/aot.{lock,log} "$root"/polis/.polis/aot/*.ctl && find "$root/polis/.polis" -exec touch -h -d "@$IMAGE_TIME" {} +
}

# image_initramfs WORK KEYS: makes WORK/initramfs.zst.
image_initramfs() {
  local work="$1" keys="$2" root="$1/root" folder="$1/initramfs" driver file version library
  version="$(ls "$root/lib/modules")"
  rm -rf "$folder" && mkdir -p "$folder"/{bin,lib,lib64,modules,proc,sys,dev,system}
  cp "$root/bin/busybox" "$root/usr/sbin/veritysetup" "$folder/bin/" &&
    cp "$POLIS_REPOSITORY/launcher/image/initramfs/init" "$folder/init" || return 1
  while read -r library; do
    cp -L "$root/$library" "$folder/lib/"
  done < <(image_libraries "$root" "$folder/bin/veritysetup")
  cp -L "$root/lib64/ld-linux-x86-64.so.2" "$folder/lib64/"
  for driver in "${IMAGE_DRIVERS[@]}"; do
    modprobe -d "$root" -S "$version" --show-depends "$driver" 2>/dev/null | awk '$1 == "insmod" { print $2 }'
  done | while read -r file; do
    [[ ! -e "$folder/modules/${file##*/}" ]] || continue
    cp "$file" "$folder/modules/"
    printf '%s\n' "${file##*/}" >>"$folder/modules/order"
  done
  if [[ -n "$keys" ]]; then
    mkdir "$folder/secure-boot" && cp "$keys"/{db,KEK,PK}.auth "$folder/secure-boot/" || return 1
  fi
  find "$folder" -exec touch -h -d "@$IMAGE_TIME" {} +
  (cd "$folder" && find . | LC_ALL=C sort | cpio --quiet -o -H newc --reproducible -R 0:0) | zstd -q -10 -f -o "$work/initramfs.zst"
}

# image_libraries ROOT PROGRAM: prints the paths below ROOT of all libraries that a program loads.
image_libraries() {
  local root="$1" name path
  local -a open=("$2")
  local -A seen=()
  while [[ ${#open[@]} -gt 0 ]]; do
    path="${open[0]}"
    open=("${open[@]:1}")
    while read -r name; do
      [[ -z "${seen[$name]:-}" ]] || continue
      seen[$name]=1
      for path in usr/lib/x86_64-linux-gnu usr/lib usr/lib64; do
        [[ -e "$root/$path/$name" ]] || continue
        printf '%s\n' "$path/$name"
        open+=("$root/$path/$name")
        break
      done
    done < <(objdump -p "$path" | awk '$1 == "NEEDED" { print $2 }')
  done
}

# image_boot_file WORK SLOT COMMAND_LINE: makes WORK/SLOT.efi.
image_boot_file() {
  local work="$1" slot="$2"
  printf '%s polis.slot=%s polis.verity=%s polis.hash-offset=%s' "console=tty0 console=ttyS0 panic=10 quiet loglevel=4 random.trust_cpu=on${3:+ $3}" \
    "$slot" "$(cat "$work/root-hash")" "$(cat "$work/hash-offset")" >"$work/$slot.command-line"
  printf 'ID=polis\nNAME=Polis\nPRETTY_NAME="Polis (%s)"\n' "$slot" >"$work/os-release"
  # The addresses are those of systemd's own tools: each part lies behind the largest one that the stub expects before it.
  objcopy --enable-deterministic-archives \
    --add-section .osrel="$work/os-release" --change-section-vma .osrel=0x20000 \
    --add-section .cmdline="$work/$slot.command-line" --change-section-vma .cmdline=0x30000 \
    --add-section .linux="$work/boot/vmlinuz" --change-section-vma .linux=0x2000000 \
    --add-section .initrd="$work/initramfs.zst" --change-section-vma .initrd=0x4000000 \
    "$work/root/usr/lib/systemd/boot/efi/linuxx64.efi.stub" "$work/$slot.efi"
}

# image_keys FOLDER: makes the keys of Secure Boot in an empty folder: db signs boot files, KEK replaces db, PK replaces KEK. NAME.auth is what a firmware
# without keys takes into its variable NAME.
image_keys() {
  local keys="${1%/}" name owner by=PK
  local -a missing
  provide_programs "$POLIS_CACHE" "${IMAGE_SIGNERS[@]}"
  mapfile -t missing < <(missing_programs "${IMAGE_SIGNERS[@]}")
  [[ ${#missing[@]} == 0 ]] || refuse "a boot file cannot be signed without ${missing[*]}" "install the packages $(packages_of "${missing[@]}" | paste -sd ' ')"
  if [[ -n "$(ls -A "$keys" 2>/dev/null)" ]]; then
    for name in db.{key,crt} {db,KEK,PK}.{auth,cer}; do
      [[ -f "$keys/$name" ]] || refuse "the keys of Secure Boot in $keys lack $name" "restore it from your copy, or name an empty folder: the firmware of each machine must then take the new keys"
    done
    return
  fi
  owner="$(cat /proc/sys/kernel/random/uuid)"
  # A folder without all keys never has this name.
  rm -rf "$keys.new" && mkdir -p "$keys.new" && chmod 0700 "$keys.new"
  for name in PK KEK db; do
    # Every firmware knows RSA with 2048 bits. No firmware looks at the end of a certificate's time.
    openssl req -new -x509 -newkey rsa:2048 -sha256 -nodes -days 7300 -subj "/CN=Polis Secure Boot $name" \
      -keyout "$keys.new/$name.key" -out "$keys.new/$name.crt" 2>/dev/null &&
      openssl x509 -in "$keys.new/$name.crt" -outform DER -out "$keys.new/$name.cer" &&
      sbsiglist --owner "$owner" --type x509 --output "$keys.new/$name.esl" "$keys.new/$name.cer" &&
      sbvarsign --key "$keys.new/$by.key" --cert "$keys.new/$by.crt" --attr NON_VOLATILE,BOOTSERVICE_ACCESS,RUNTIME_ACCESS --include-attrs \
        --output "$keys.new/$name.auth" "$name" "$keys.new/$name.esl" >/dev/null ||
      refuse "the keys of Secure Boot cannot be made in $keys.new" "check the room and the rights there"
    by="$name"
  done
  chmod 0600 "$keys.new"/*.key
  [[ ! -d "$keys" ]] || rmdir "$keys"
  mv "$keys.new" "$keys"
  say "made the keys of Secure Boot in $keys: keep a copy, and show them to nobody; a build needs only db.key, db.crt, *.auth and *.cer"
}

# image_sign FILE KEYS: signs a boot file.
image_sign() {
  sbsign --key "$2/db.key" --cert "$2/db.crt" --output "$1.signed" "$1" && mv "$1.signed" "$1"
}

# image_disk WORK OUTPUT PARAMETERS COMMAND_LINE KEYS: makes the disk image with the system in slot a.
image_disk() {
  local work="$1" output="$2" parameters="$3" line="$4" keys="$5" disk="$1/disk.img" esp="$1/esp.img" slot
  image_initramfs "$work" "$keys" || return 1
  for slot in a b; do
    image_boot_file "$work" "$slot" "$line" || return 1
    [[ -z "$keys" ]] || image_sign "$work/$slot.efi" "$keys" || return 1
  done
  [[ "$(stat -c %s "$work/system.img")" -le $((IMAGE_SLOT << 20)) ]] || { echo "the system is larger than a slot of $IMAGE_SLOT MiB" && return 1; }
  rm -f "$disk" "$esp"
  truncate -s "${IMAGE_ESP}M" "$esp"
  mkfs.vfat -F 32 -i 504f4c53 -n POLIS-ESP --invariant "$esp" >/dev/null || return 1
  touch -d "@$IMAGE_TIME" "$work/a.efi"
  mmd -i "$esp" ::/EFI ::/EFI/BOOT ::/EFI/polis ::/polis &&
    image_loader "$work" "$esp" "$keys" || return 1
  if [[ -n "$parameters" ]]; then
    mcopy -m -i "$esp" "$parameters" "::/polis/parameters.${parameters##*.}" || return 1
  fi
  if [[ -n "$keys" ]]; then
    # For a firmware that takes keys only from a person at its setup.
    mmd -i "$esp" ::/polis/secure-boot && mcopy -i "$esp" "$keys"/{PK,KEK,db}.cer ::/polis/secure-boot/ || return 1
  fi
  truncate -s "$((IMAGE_ESP + 2 * IMAGE_SLOT + 4))M" "$disk"
  sgdisk -U 6d657472-6f70-6f6c-6973-000000000003 \
    -n "1:2048:+${IMAGE_ESP}M" -t 1:EF00 -c 1:POLIS-ESP -u 1:6d657472-6f70-6f6c-6973-000000000004 \
    -n "2:0:+${IMAGE_SLOT}M" -t 2:ee96054b-f6d0-4267-aaaa-724b2afea74c -c 2:POLIS-SYSTEM-a -u 2:6d657472-6f70-6f6c-6973-000000000005 \
    -n "3:0:+${IMAGE_SLOT}M" -t 3:ee96054b-f6d0-4267-bbbb-724b2afea74c -c 3:POLIS-SYSTEM-b -u 3:6d657472-6f70-6f6c-6973-000000000006 \
    "$disk" >/dev/null || return 1
  dd if="$esp" of="$disk" bs=1M seek=1 conv=notrunc,sparse status=none &&
    dd if="$work/system.img" of="$disk" bs=1M seek=$((1 + IMAGE_ESP)) conv=notrunc,sparse status=none || return 1
  mkdir -p "$(dirname "$output")"
  mv "$disk" "$output"
}

# image_loader WORK ESP KEYS: puts the boot loader and the boot file of slot a on the ESP. Of the boot files in EFI/Linux the loader starts the one with the
# highest number that has not been given up; "gate" and an update give the names.
image_loader() {
  local work="$1" esp="$2" keys="$3"
  printf 'timeout 0\neditor no\n' >"$work/loader.conf"
  cp "$work/root/usr/lib/systemd/boot/efi/systemd-bootx64.efi" "$work/loader.efi" || return 1
  [[ -z "$keys" ]] || image_sign "$work/loader.efi" "$keys" || return 1
  touch -d "@$IMAGE_TIME" "$work/loader.conf" "$work/loader.efi" &&
    mmd -i "$esp" ::/EFI/Linux ::/loader &&
    mcopy -m -i "$esp" "$work/loader.efi" ::/EFI/BOOT/BOOTX64.EFI &&
    mcopy -m -i "$esp" "$work/loader.conf" ::/loader/loader.conf &&
    mcopy -m -i "$esp" "$work/a.efi" ::/EFI/Linux/polis-00000001-a.efi
}

# image_update WORK OUTPUT VERSION: makes an update file: a line for each part with its size and digest, then the parts.
image_update() {
  local work="$1" output="$2" part
  local -a parts=("boot-a $work/a.efi" "boot-b $work/b.efi" "system $work/system.img")
  {
    printf 'polis-update 1\narchitecture amd64\nversion %s\n' "$3"
    for part in "${parts[@]}"; do
      printf '%s %s %s\n' "${part%% *}" "$(stat -c %s "${part#* }")" "$(sha256sum <"${part#* }" | cut -d ' ' -f 1)"
    done
    printf '\n'
    for part in "${parts[@]}"; do
      cat "${part#* }"
    done
  } >"$output.new"
  mv "$output.new" "$output"
  say "$output: an update to version $3 of $(image_size "$output")"
}

# image_accelerator WORK: prints "kvm" if the kernel of the image boots with it, and "tcg" otherwise: some machines have a /dev/kvm that starts no ordinary
# kernel. The answer of a boot is kept for this machine's kernel.
image_accelerator() {
  local work="$1" known="$1/accelerator" kernel log
  kernel="$(uname -r)"
  [[ -w /dev/kvm ]] || { echo tcg && return; }
  if [[ "$(cut -d ' ' -f 1 "$known" 2>/dev/null)" != "$kernel" ]]; then
    log="$(mktemp)"
    # A kernel prints its first line in the first second with KVM.
    timeout 10 qemu-system-x86_64 -accel kvm -cpu max -m 512 -nodefaults -display none -no-reboot -serial "file:$log" \
      -kernel "$work/boot/vmlinuz" -append "console=ttyS0 panic=-1" </dev/null >/dev/null 2>&1 || true
    if grep -q "Linux version" "$log"; then echo "$kernel kvm"; else echo "$kernel tcg"; fi >"$known"
    rm -f "$log"
  fi
  cut -d ' ' -f 2 "$known"
}

# image_run FOLDER IMAGE PARAMETERS ADDRESS UNTIL MEMORY SIZE ARGUMENT...: runs a virtual machine, whose disk, firmware variables and TPM stay in FOLDER, with its
# serial line on standard output. Ctrl-C presses its power button.
image_run() {
  local folder="$1" image="$2" parameters="$3" address="$4" until="$5" memory="$6" size="$7" accelerator port machine code=0
  local work="$POLIS_CACHE/image" line forwards=""
  shift 7
  provide_programs "$POLIS_CACHE" "${IMAGE_RUNNERS[@]}"
  local -a missing
  mapfile -t missing < <(missing_programs "${IMAGE_RUNNERS[@]}")
  [[ ${#missing[@]} == 0 ]] || refuse "a virtual machine needs ${missing[*]}" "install the packages $(packages_of "${missing[@]}" | paste -sd ' ')"
  [[ -f "$image" ]] || refuse "there is no image $image" "build one: $0 image build"
  mkdir -p "$folder/tpm"
  folder="$(cd "$folder" && pwd)"
  exec {POLIS_MACHINE}>"$folder/lock"
  flock -n "$POLIS_MACHINE" || { say "the machine of $folder is running already" && exit 4; }
  if [[ ! -f "$folder/disk.img" ]]; then
    cp --sparse=always "$image" "$folder/disk.img.new"
    truncate -s "${size}M" "$folder/disk.img.new"
    mv "$folder/disk.img.new" "$folder/disk.img"
  fi
  local -a FIRMWARE
  image_secure_boot "$folder" "$IMAGE_SECURE_BOOT"
  image_firmware "$folder" "$(cat "$folder/secure-boot")"
  if [[ -z "$parameters" ]]; then
    parameters="$folder/owner/parameters.json"
    [[ -f "$parameters" ]] || ctl "$(java_home)" params make --owner "$folder/owner" --to "$parameters" >&2
  fi
  accelerator="$(image_accelerator "$work")"
  for port in 7833 7834 7835 7839 7840 6443 6444; do
    forwards+=",hostfwd=tcp:$address:$port-:$port"
  done
  rm -f "$folder"/monitor.{in,out} "$folder"/serial{,.log} && mkfifo "$folder"/monitor.{in,out}
  image_tpm "$folder/tpm" {POLIS_MACHINE}>&-
  [[ "$parameters" == none ]] || set -- "$@" -fw_cfg "name=opt/dev.polis/parameters.${parameters##*.},file=$parameters"
  # Ctrl-C is for this script: in a session of its own the machine gets no signal of the terminal.
  setsid qemu-system-x86_64 -name polis "${FIRMWARE[@]}" -accel "$accelerator" -cpu max -smp 2 -m "$memory" -nodefaults -display none \
    -drive "if=none,id=disk,file=$folder/disk.img,format=raw,discard=unmap" -device virtio-blk-pci,drive=disk \
    -chardev "socket,id=tpm,path=$folder/tpm/socket" -tpmdev emulator,id=tpm,chardev=tpm -device tpm-crb,tpmdev=tpm \
    -netdev "user,id=net$forwards" -device virtio-net-pci,netdev=net -device virtio-rng-pci \
    -pidfile "$folder/pid" -chardev "pipe,id=monitor,path=$folder/monitor" -mon chardev=monitor \
    -chardev "socket,id=serial,path=$folder/serial,server=on,wait=off,logfile=$folder/serial.log" -serial chardev:serial "$@" </dev/null >"$folder/qemu.log" 2>&1 {POLIS_MACHINE}>&- &
  machine=$!
  trap 'image_press "$folder"' INT TERM
  image_follow "$folder/serial.log" "$machine" "$until" || true
  if [[ -n "$until" ]] && kill -0 "$machine" 2>/dev/null; then
    image_press "$folder"
  fi
  while true; do
    code=0
    wait "$machine" || code=$?
    # A signal ends the wait and not the machine.
    kill -0 "$machine" 2>/dev/null || break
  done
  rm -f "$folder"/monitor.{in,out} "$folder"/{pid,serial}
  [[ $code == 0 ]] || refuse "the virtual machine ended with $code: $(tail -n 1 "$folder/qemu.log")" "its messages are in $folder/qemu.log"
  say "the machine is off; its console is in $folder/serial.log"
}

# image_secure_boot FOLDER WANTED: keeps in FOLDER/secure-boot whether the machine has Secure Boot, as its first run wants it: "on", or "off" without a wish.
image_secure_boot() {
  local kept="$1/secure-boot"
  [[ -f "$kept" ]] || printf '%s\n' "${2:-off}" >"$kept"
  [[ -z "$2" || "$2" == "$(cat "$kept")" ]] || refuse "the machine of $1 was made with --secure-boot $(cat "$kept"), not $2" \
    "leave the option out, or name another folder by --machine; to change this machine, write $2 into $kept and delete $1/vars.fd"
}

# image_has_keys VARIABLES: returns whether the firmware's variables have the one that ends the setup mode: its name, PK, is in UTF-16.
image_has_keys() {
  LC_ALL=C grep -qaP 'P\x00K\x00\x00\x00' "$1"
}

# image_firmware FOLDER SECURE_BOOT: fills FIRMWARE with the firmware of a machine, as arguments for QEMU. With Secure Boot, only the firmware itself writes its
# variables, from system management mode, and a machine without keys restarts once it has taken those of its boot file.
image_firmware() {
  local folder="$1" place=/usr/share/OVMF code=OVMF_CODE_4M.fd smm=off
  FIRMWARE=()
  if [[ "$2" == on ]]; then
    code=OVMF_CODE_4M.secboot.fd smm=on
    FIRMWARE+=(-global driver=cfi.pflash01,property=secure,value=on -global ICH9-LPC.disable_s3=1)
  fi
  [[ -f "$place/$code" ]] || refuse "a virtual machine needs the firmware $place/$code" "install the package ovmf"
  FIRMWARE+=(-M "q35,smm=$smm" -drive "if=pflash,unit=0,readonly=on,format=raw,file=$place/$code" -drive "if=pflash,unit=1,format=raw,file=$folder/vars.fd")
  [[ -f "$folder/vars.fd" ]] || cp "$place/OVMF_VARS_4M.fd" "$folder/vars.fd"
  [[ "${IMAGE_REBOOTS:-}" == again ]] || { [[ "$2" == on ]] && ! image_has_keys "$folder/vars.fd"; } || FIRMWARE+=(-no-reboot)
}

# image_tpm FOLDER: starts the TPM of a machine. The one of a machine that was killed ends some moments later, and holds its state until then.
image_tpm() {
  local folder="$1" former waited
  former="$(cat "$folder/pid" 2>/dev/null)" || former=""
  if [[ -n "$former" && "$(cat "/proc/$former/comm" 2>/dev/null)" == swtpm ]]; then
    kill "$former" 2>/dev/null || true
    # It ends at once; ten seconds are for a machine that is busy.
    for ((waited = 0; waited < 100; waited++)); do
      kill -0 "$former" 2>/dev/null || break
      sleep 0.1
    done
  fi
  rm -f "$folder/socket"
  swtpm socket --tpm2 --tpmstate "dir=$folder" --ctrl "type=unixio,path=$folder/socket" --log "file=$folder/log" --pid "file=$folder/pid" --terminate --daemon ||
    refuse "the TPM of the machine does not start: $(tail -n 1 "$folder/log")" "its log is $folder/log"
}

# image_press FOLDER: presses the power button of the machine.
image_press() {
  # Without a reader the pipe would hold this script for ever.
  kill -0 "$(cat "$1/pid" 2>/dev/null)" 2>/dev/null || return 0
  say "pressing the machine's power button; it ends in order"
  echo system_powerdown >"$1/monitor.in"
}

# image_follow LOG PID UNTIL: prints a serial line until a line of it begins with UNTIL, or the process ends.
image_follow() {
  local line
  while IFS= read -r line; do
    printf '%s\n' "${line%$'\r'}"
    [[ -z "$3" || "$line" != "$3"* ]] || return 0
  done < <(tail -n +1 -F --pid="$2" -s 0.2 "$1" 2>/dev/null)
}
